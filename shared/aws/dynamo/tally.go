package dynamo

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Tally implements state.Tallier. It reads the records, and no rows.
func (s *rows) Tally(ctx context.Context, env string) ([]state.Tally, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	var out []state.Tally
	for _, rec := range recs {
		lane, _ := laneOf(rec.key)
		for kind, n := range rec.counts {
			out = append(out, state.Tally{Lane: lane, Type: kind.of, Status: kind.status, Count: n})
		}
	}
	return out, nil
}

// RowsWith implements state.Tallier. It reads the images of lanes that have such rows.
func (s *rows) RowsWith(
	ctx context.Context, env string, status state.Status, after resource.ID, limit int,
) ([]state.Row, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	var out []state.Row
	for _, rec := range recs {
		if rec.statuses()[status] == 0 {
			continue
		}
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			found := 0
			for _, id := range m.order() {
				if id <= after || found == limit {
					continue
				}
				if r := m.rows[id].row(id, m.lane); r.Status() == status {
					out = append(out, r)
					found++
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b state.Row) int { return cmp.Compare(a.ID, b.ID) })
	out = slices.CompactFunc(out, func(a, b state.Row) bool { return a.ID == b.ID })
	return out[:min(limit, len(out))], nil
}
