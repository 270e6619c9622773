package fulfil

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
)

// Instances follow resources besides their own: those of the relation resources. What becomes of
// them counts for the lifecycle, and that is all: they are the whole model's, or another
// instance's.

// maxFollowed bounds the ids of the resources that an instance follows. They are in its record, as
// nothing else says which they are.
const maxFollowed = 16 << 10

// follows returns what an instance follows. Whoever goes follows nothing: what is not its own is
// not to keep it.
func (c *compiled) follows(id string) []string {
	one := c.members.all[id]
	if one == nil || c.members.purges(one.rec) {
		return nil
	}
	var out []string
	for _, id := range c.Followed[id] {
		out = append(out, string(id))
	}
	return out
}

// purges reports whether an instance goes: its resources are removed.
func (m *members) purges(rec *inventory.Record) bool {
	k, ok := m.kept[keptKey{rec.Service, rec.ServiceVersion, rec.Definition}]
	s, known := k.Service.Lifecycle.State(rec.State)
	return ok && known && s.PurgeResources
}

// followsFew refuses a model in which an instance follows more than its record can name.
func (c *compiled) followsFew() error {
	var out diag.Problems
	for _, id := range slices.Sorted(maps.Keys(c.Followed)) {
		n := 0
		for _, of := range c.Followed[id] {
			n += len(of) + len(`"",`)
		}
		if n > maxFollowed {
			out.Add(diag.Problem{
				Message: fmt.Sprintf("the instance %s follows %d resources that are not its own, whose ids "+
					"are %d bytes, and may be %d", id, len(c.Followed[id]), n, maxFollowed),
				Hint: "add to the relation resources one resource that requires the others",
			})
		}
	}
	return out.Err()
}

// followers returns what instances follow, by their ids. A worker that is alone reads it once,
// since nobody else changes it.
func (w *Worker) followers(ctx context.Context) (map[string][]string, error) {
	if w.turn == "" && w.following != nil {
		return w.following, nil
	}
	out, q := map[string][]string{}, inventory.Query{}
	for {
		page, err := w.Instances.Instances(ctx, w.Env, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if len(page[i].Follows) > 0 {
				out[page[i].ID] = page[i].Follows
			}
		}
		if len(page) == 0 {
			w.following = out
			return out, nil
		}
		q.After = &page[len(page)-1]
	}
}

// noteFollower notes what an instance follows that was written.
func (w *Worker) noteFollower(rec *inventory.Record) {
	if w.following == nil {
		return
	}
	if delete(w.following, rec.ID); len(rec.Follows) > 0 {
		w.following[rec.ID] = rec.Follows
	}
}

// distinct returns ids without repeats: several instances may follow one resource.
func distinct(ids []resource.ID) []resource.ID {
	slices.Sort(ids)
	return slices.Compact(ids)
}
