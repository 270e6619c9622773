package dynamo

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// errLong means that a tablet applied its part so long ago that the rows that did not fit are no
// longer known.
var errLong = fault.New(fault.Unavailable, "finish commit",
	"others have finished it, and begun another").WithHint("read again what came of it")

// rollTablet applies a commit to one tablet, once. In the same transaction it removes rows that
// move here from their previous tablets.
func (s *forwarder) rollTablet(
	ctx context.Context,
	env, key string,
	f *forward,
) ([]resource.ID, error) {
	rec, err := s.readRecord(ctx, env, key)
	if err != nil {
		return nil, err
	}
	switch {
	case rec.tx == f.number:
		ids, err := s.idsOf(ctx, rec.conflicts)
		if isLost(err) {
			return s.mayNotFit(ctx, env, rec, f.parts[key])
		}
		return ids, err
	case rec.tx > f.number:
		return nil, errLong
	}
	r := &roller{s: s, env: env, key: key, edits: map[string]*edit{key: newEdit(rec)}}
	if err := r.readRows(ctx, f.parts[key]); err != nil {
		return nil, err
	}
	p, all := r.fitting(f.parts[key])
	r.take(p)
	if err := r.recount(ctx); err != nil {
		return nil, err
	}
	if all {
		mine := r.edits[key].next
		mine.tx = f.number
		if mine.conflicts, err = s.keepIDs(ctx, r.conflicts); err != nil {
			return nil, err
		}
	}
	edits := make([]*edit, 0, len(r.edits))
	for _, e := range byKey(r.edits) {
		if e.next.key == key || !e.delta.empty() {
			edits = append(edits, e)
		}
	}
	if err := s.write(ctx, env, edits, nil); err != nil {
		return nil, err
	}
	for _, e := range edits {
		s.tidy(ctx, env, e.next)
	}
	if !all {
		return nil, errLost // there are more rows to move
	}
	return r.conflicts, nil
}

// mayNotFit is called if the list of the rows that did not fit is lost. It returns all rows of the
// part, since each of them may not have fitted. It stores this list in the record, so that all
// processes that roll the commit forward know the same conflicts. If the tablet has changed since
// it was read, it returns errLost.
func (s *forwarder) mayNotFit(
	ctx context.Context, env string, rec *record, p *part,
) ([]resource.ID, error) {
	now, err := s.readRecord(ctx, env, rec.key)
	if err != nil {
		return nil, err
	}
	if now.tx != rec.tx || !now.conflicts.is(rec.conflicts) {
		return nil, errLost
	}
	ids := p.ids()
	e := newEdit(now)
	if e.next.conflicts, err = s.keepIDs(ctx, ids); err != nil {
		return nil, err
	}
	return ids, s.write(ctx, env, []*edit{e}, nil)
}

// fitting returns the part of p that can be applied now. That is all of p, unless rows move here
// from more tablets than a transaction can hold.
func (r *roller) fitting(p *part) (*part, bool) {
	sources := map[string]bool{}
	moves := &part{} // the rest of p is applied once, together with the number of the commit
	more := false
	for i, from := range p.from {
		if from == "" || from == r.key || r.have[from][p.rows[i].ID].Rev != p.rows[i].Rev-1 {
			continue // it stays, has moved already, or does not fit
		}
		if !sources[from] && len(sources) == r.s.limits.sources {
			more = true
			continue
		}
		sources[from] = true
		moves.rows, moves.from = append(moves.rows, p.rows[i]), append(moves.from, from)
	}
	if !more {
		return p, true
	}
	return moves, false
}

// moved reports whether a row was already moved here, by an earlier transaction of this part.
func (r *roller) moved(now *state.Row) bool {
	have, ok := r.have[r.key][now.ID]
	return ok && have.Rev == now.Rev
}

// roller applies a commit to one tablet.
type roller struct {
	s         *forwarder
	env       string
	key       string
	edits     map[string]*edit // edits of this tablet, and of the tablets that rows leave
	have      map[string]map[resource.ID]state.Row
	conflicts []resource.ID
}

// readRows reads the current rows of the part.
func (r *roller) readRows(ctx context.Context, p *part) error {
	want := map[string][]resource.ID{r.key: {}}
	for i, from := range p.from {
		if from == "" {
			from = r.key
		}
		want[from] = append(want[from], p.rows[i].ID)
		if from != r.key {
			want[r.key] = append(want[r.key], p.rows[i].ID)
		}
	}
	for _, k := range p.gone {
		want[r.key] = append(want[r.key], k.id)
	}
	r.have = map[string]map[resource.ID]state.Row{}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		ids := want[key]
		if r.edits[key] == nil {
			rec, err := r.s.readRecord(ctx, r.env, key)
			if err != nil {
				return err
			}
			r.edits[key] = newEdit(rec)
		}
		rec := r.edits[key].rec
		found := map[resource.ID]state.Row{}
		r.have[key] = found
		if err := r.s.withImage(ctx, r.env, rec, func(m *image) error {
			if m.seq != rec.seq {
				return errLost
			}
			for _, id := range ids {
				if row, has := m.row(id); has {
					found[id] = row
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// take adds the part to the edits. Rows that have changed since are conflicts.
func (r *roller) take(p *part) {
	mine := r.edits[r.key]
	for i := range p.rows {
		now, from := p.rows[i], p.from[i]
		before := now.Rev - 1
		if from == "" {
			from, before = r.key, 0
		}
		old, ok := r.have[from][now.ID]
		switch {
		case from != r.key && !ok && r.moved(&now):
		case old.Rev != before:
			r.conflicts = append(r.conflicts, now.ID)
		case from != r.key:
			r.edits[from].remove(&old)
			mine.put(nil, now)
		case ok:
			mine.put(&old, now)
		default:
			mine.put(nil, now)
		}
	}
	for _, k := range p.gone {
		if old, ok := r.have[r.key][k.id]; ok && old.Rev == k.rev {
			mine.remove(&old)
		} else {
			r.conflicts = append(r.conflicts, k.id)
		}
	}
}

func (r *roller) recount(ctx context.Context) error {
	for _, e := range byKey(r.edits) {
		if !e.dueOut {
			continue
		}
		if err := r.s.withImage(ctx, r.env, e.rec, func(m *image) error {
			if m.seq != e.rec.seq {
				return errLost
			}
			e.recount(m)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
