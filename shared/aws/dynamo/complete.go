package dynamo

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// completion is the work of one tablet in a commit that is rolled forward, after all rows were
// written. By then the conflicting rows are known.
type completion struct {
	drop    []string
	epoch   int64
	checked []resource.ID
}

// completions returns the completions by key of the tablet. As in any commit, a conflicting row
// keeps all outbox entries, because the caller has to decide again about that row. A conflicting
// row does not count as checked.
func (f *forward) completions(conflicts []resource.ID) map[string]*completion {
	out := map[string]*completion{}
	of := func(key string) *completion {
		if out[key] == nil {
			out[key] = &completion{}
		}
		return out[key]
	}
	if len(conflicts) == 0 {
		for key, p := range f.parts {
			if len(p.drop) > 0 {
				of(key).drop = p.drop
			}
		}
	}
	rows := make([]state.Row, len(conflicts))
	for i, id := range conflicts {
		rows[i].ID = id
	}
	if checked := state.Counted(f.checked, rows); len(checked) > 0 {
		g := of(f.guard)
		g.epoch, g.checked = f.epoch, checked
	}
	return out
}

// complete does the work of a roll-forward that comes after all rows were written. All processes
// that roll the commit forward know the same conflicts, so several may do it, and more than once.
func (s *forwarder) complete(
	ctx context.Context,
	env string,
	f *forward,
	conflicts []resource.ID,
) error {
	all := f.completions(conflicts)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		ctx := withPurpose(ctx, Purpose{Name: "complete", Tablet: key, Number: f.number})
		if err := s.contend(ctx, func() error {
			return s.completeTablet(ctx, env, key, f.number, all[key])
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *forwarder) completeTablet(
	ctx context.Context,
	env, key string,
	number int64,
	do *completion,
) error {
	rec, err := s.readRecord(ctx, env, key)
	if err != nil || rec.tx > number { // another process completed it, and began another
		return err
	}
	e := newEdit(rec)
	if len(do.drop) > 0 {
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			if m.seq != rec.seq {
				return errLost
			}
			for _, id := range do.drop {
				if _, there := m.outbox[id]; there {
					e.drop = append(e.drop, id)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		e.next.outbox -= len(e.drop)
	}
	if rec.wave < do.epoch {
		e.epoch, e.checked = do.epoch, do.checked
	}
	if e.empty() {
		return nil
	}
	if err := s.write(ctx, env, []*edit{e}, nil); err != nil {
		return err
	}
	s.tidy(ctx, env, e.next)
	return nil
}
