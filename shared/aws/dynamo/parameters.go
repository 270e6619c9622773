package dynamo

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/deploy/state"
)

// Parameters implements state.State.
func (s *rows) Parameters(
	ctx context.Context,
	env string,
	q state.ParameterQuery,
) ([]state.Parameter, error) {
	rec, err := s.readRecord(ctx, env, paramsKey)
	if err != nil || rec.seq == 0 {
		return nil, err
	}
	var out []state.Parameter
	err = s.withImage(ctx, env, rec, func(m *image) error {
		if len(q.Keys) > 0 {
			for _, k := range q.Keys {
				if p, ok := m.params[k]; ok && (q.Of == "" || p.Of == q.Of) {
					out = append(out, p)
				}
			}
			return nil
		}
		for _, p := range m.params {
			if (p.Of != "") == q.Facts && (q.Of == "" || p.Of == q.Of) {
				out = append(out, p)
			}
		}
		return nil
	})
	order := func(a, b state.Parameter) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(out, order)
	return slices.CompactFunc(out, func(a, b state.Parameter) bool { return order(a, b) == 0 }), err
}
