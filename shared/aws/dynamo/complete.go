package dynamo

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// completion is what one tablet does of a commit that is rolled forward when all rows of it were
// written, and it is known which did not fit.
type completion struct {
	drop    []string
	epoch   int64
	checked []resource.ID
}

// completions returns them by key of the tablet. As in any commit nothing is dropped from the
// outbox when a row did not fit, since whoever drops has to decide anew about that row, and no such
// row counts as checked.
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

// complete does what a commit that is rolled forward has left until all rows were written.
// Everybody who rolls it knows the same conflicts, so it may be done by several, and more than
// once.
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
	if err != nil || rec.tx > number { // others have completed it, and begun another
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
