package local

import (
	"cmp"
	"context"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
)

// Parameters implements state.State.
func (h *Home) Parameters(
	ctx context.Context, env string, q state.ParameterQuery,
) ([]state.Parameter, error) {
	var out []state.Parameter
	err := h.read(ctx, "read parameters", func(c *sqlite.Conn) error {
		each := func(s *sqlite.Stmt) error {
			var p state.Parameter
			err := unseal(s.ColumnText(0), &p, "parameters", env, s.ColumnText(1), s.ColumnText(2))
			if err == nil && (q.Of == "" || p.Of == q.Of) {
				out = append(out, p)
			}
			return err
		}
		if len(q.Keys) == 0 {
			return query(c,
				"SELECT record, of, name FROM parameters WHERE env = +? AND (of <> '') = +? "+
					"ORDER BY of, name", each, env, q.Facts)
		}
		keys := slices.Clone(q.Keys)
		slices.SortFunc(keys, func(a, b state.ParameterKey) int {
			return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name))
		})
		for _, k := range slices.Compact(keys) {
			if err := query(c,
				"SELECT record, of, name FROM parameters WHERE env = +? AND of = +? AND name = +?",
				each, env, string(k.Of), k.Name); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// ParameterHistory returns the changes of a parameter or fact, newest first: each value that was
// set, and each removal. It goes back as far as actions are kept.
func (h *Home) ParameterHistory(
	ctx context.Context, env, name string,
) ([]state.ParameterChange, error) {
	return readList(ctx, h, "read the history of a parameter",
		"SELECT record FROM parameter_changes WHERE env = ? AND name = ? AND of = '' ORDER BY k DESC",
		func(s *sqlite.Stmt) (p state.ParameterChange, err error) {
			err = fromJSON(s.ColumnText(0), &p)
			return p, err
		}, env, name)
}

func putParameters(c *sqlite.Conn, env string, ps []state.Parameter) error {
	for _, p := range ps {
		if err := query(c,
			"INSERT OR REPLACE INTO parameters (env, of, name, record) VALUES (?, ?, ?, ?)", nil,
			env, string(p.Of), p.Name,
			sealed(p, "parameters", env, string(p.Of), p.Name)); err != nil {
			return err
		}
		if err := noteParameter(c, env, state.ParameterChange{Parameter: p}); err != nil {
			return err
		}
	}
	return nil
}

func noteParameter(c *sqlite.Conn, env string, p state.ParameterChange) error {
	return query(c,
		"INSERT INTO parameter_changes (env, of, name, at, record) VALUES (?, ?, ?, ?, ?)", nil,
		env, string(p.Of), p.Name, nanos(p.Updated), toJSON(p))
}

func dropParameters(c *sqlite.Conn, env string, keys []state.ParameterKey) error {
	for _, k := range keys {
		if err := query(c, "DELETE FROM parameters WHERE env = +? AND of = +? AND name = +?", nil, env,
			string(k.Of), k.Name); err != nil {
			return err
		}
		if c.Changes() == 0 {
			continue // there was no value
		}
		gone := state.ParameterChange{Parameter: state.Parameter{Name: k.Name, Of: k.Of,
			Updated: time.Now().UTC()}, Gone: true}
		if err := noteParameter(c, env, gone); err != nil {
			return err
		}
	}
	return nil
}
