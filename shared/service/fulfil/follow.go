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

// Instances follow resources besides their own: those of the relation resources. The outcomes of
// followed resources count for the lifecycle, and nothing else does. They belong to the whole model
// or to another instance.

// maxFollowed is the size in bytes of the ids of the resources that an instance follows. Only the
// record of the instance holds these ids.
const maxFollowed = 16 << 10

// follows returns the resources that an instance follows. An instance that is being removed follows
// only resources that the version in force purges, such as those whose handlers return values to
// allocators. Its other followed resources belong to others and stay.
func (x *exporter) follows(ctx context.Context, c *compiled, id string) ([]string, error) {
	one := c.members.all[id]
	if one == nil {
		return nil, nil
	}
	ids := c.Followed[id]
	if c.members.purges(one.rec) {
		var err error
		if ids, err = x.purged(ctx, c.FollowedPurged[id]); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, id := range ids {
		out = append(out, string(id))
	}
	return out, nil
}

// purged returns the resources that the version in force purges.
func (x *exporter) purged(ctx context.Context, ids []resource.ID) ([]resource.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := x.Engine.State.Rows(ctx, x.Env, ids)
	if err != nil {
		return nil, err
	}
	var out []resource.ID
	for i := range rows {
		res, err := resource.Decode(rows[i].Body)
		if err != nil {
			return nil, err
		}
		if res.Purged && !rows[i].Orphaned {
			out = append(out, rows[i].ID)
		}
	}
	return out, nil
}

// purges reports whether an instance is being removed: its resources are purged.
func (m *members) purges(rec *inventory.Record) bool {
	k, ok := m.defs.kept[keptKey{rec.Service, rec.ServiceVersion, rec.Definition}]
	s, known := k.Service.Lifecycle.State(rec.State)
	return ok && known && s.PurgeResources
}

// followsFew rejects a model in which an instance follows more resources than its record can name.
func (c *compiled) followsFew() error {
	var out diag.Problems
	for _, id := range slices.Sorted(maps.Keys(c.Followed)) {
		n := 0
		for _, of := range c.Followed[id] {
			n += len(of) + len(`"",`)
		}
		if n > maxFollowed {
			out.Add(diag.Problem{
				Message: fmt.Sprintf(
					"the instance %s follows %d resources that are not its own, whose ids "+
						"are %d bytes, and may be %d", id, len(c.Followed[id]), n, maxFollowed),
				Hint: "add to the relation resources one resource that requires the others",
			})
		}
	}
	return out.Err()
}

// following caches the resources that instances follow.
type following struct {
	*Config
	outcomes *outcomes
	// known are the followed resources by instance id; nil if they were not read.
	known map[string]inventory.Following
}

// forget clears the cache: another worker may have changed the followed resources.
func (f *following) forget() { f.known = nil }

// read returns the followed resources by instance id. A worker that is alone or has the turn reads
// them once, because no other worker changes them.
func (f *following) read(ctx context.Context) (map[string]inventory.Following, error) {
	if f.known != nil {
		return f.known, nil
	}
	if f.Followers == nil {
		return f.all(ctx)
	}
	out, err := f.Followers.Followers(ctx, f.Env)
	if err == nil {
		f.known = out
	}
	return out, err
}

// all reads the followed resources from the records of all instances.
func (f *following) all(ctx context.Context) (map[string]inventory.Following, error) {
	out, q := map[string]inventory.Following{}, inventory.Query{Limit: inventory.MaxPage}
	for {
		page, err := f.Instances.Instances(ctx, f.Env, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if of, some := page[i].Following(); some {
				out[page[i].ID] = of
			}
		}
		if len(page) < q.Limit {
			f.known = out
			return out, nil
		}
		q.After = &page[len(page)-1]
	}
}

// note updates the cache for a written record.
func (f *following) note(rec *inventory.Record) {
	if f.known == nil {
		return
	}
	delete(f.known, rec.ID)
	if of, some := rec.Following(); some {
		f.known[rec.ID] = of
	}
}

// concerned returns the followers whose followed resources have another outcome than they recorded,
// sorted. It covers followers of resources that belong to the instances ran or, if shared is set,
// all followers.
func (f *following) concerned(
	ctx context.Context, ran []inventory.Record, shared bool,
) ([]string, error) {
	if f.Followers == nil || len(ran) == 0 && !shared {
		return nil, nil
	}
	followers, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for i := range ran {
		for _, id := range ran[i].Resources {
			own[id] = true
		}
	}
	var ids []resource.ID
	for _, of := range followers {
		for _, id := range of.Resources {
			if shared || own[id] {
				ids = append(ids, resource.ID(id))
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := f.outcomes.rowsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(followers)) {
		one := followers[id]
		known := slices.DeleteFunc(idsOf(one.Resources), func(id resource.ID) bool {
			return rows[id] == nil
		})
		if len(known) > 0 && outcome(nil, known, rows) != one.Outcome {
			out = append(out, id)
		}
	}
	return out, nil
}

// distinct returns ids without duplicates: several instances may follow one resource.
func distinct(ids []resource.ID) []resource.ID {
	slices.Sort(ids)
	return slices.Compact(ids)
}
