package graphs

import (
	"context"

	"southbound/shared/api/environments"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

type Service struct{ Env *environments.Service }

// Graph implements Reader.
func (s *Service) Graph(ctx context.Context, env string, q Query) (Graph, error) {
	if q.Limit <= 0 {
		q.Limit = DefaultNodes
	}
	q.Limit = min(q.Limit, MaxNodes)
	if err := check(q); err != nil {
		return Graph{}, err
	}
	claimed, err := s.Env.Engine.Claimed(ctx, env)
	if err != nil {
		return Graph{}, err
	}
	g, err := s.Env.Engine.Graph(ctx, env)
	if err != nil {
		return Graph{}, err
	}
	if q.ID != "" {
		return s.around(ctx, env, q, g, &claimed)
	}
	return s.folded(ctx, env, q, g, &claimed)
}

func check(q Query) error {
	for _, f := range q.Fold {
		if f != FoldAgent && f != FoldType {
			return fault.New(fault.Usage, "read graph", "there is no fold %q", f).
				WithHint("use agent, type or both")
		}
	}
	if len(q.Open) > MaxOpen {
		return fault.New(fault.Usage, "read graph", "%d boxes are open, and at most %d may be",
			len(q.Open), MaxOpen).WithHint("use a filter, or fewer folds")
	}
	if q.Up < 0 || q.Down < 0 {
		return fault.New(fault.Usage, "read graph", "up and down must not be negative")
	}
	return nil
}

// statusOf returns the status of a row, which is deploying while it runs.
func statusOf(r *state.Row, claimed *deploy.Claimed) state.Status {
	if claimed.Running[r.ID] {
		return state.StatusDeploying
	}
	return r.Status()
}

// around returns the neighbours of a resource.
func (s *Service) around(
	ctx context.Context, env string, q Query, g *version.Graph, claimed *deploy.Claimed,
) (Graph, error) {
	row, err := s.Env.Engine.Row(ctx, env, q.ID)
	if err != nil {
		return Graph{}, err
	}
	c := newCollector(g, q)
	ids, left := neighbours(g, q, row.Because())
	rows, err := s.rows(ctx, env, ids)
	if err != nil {
		return Graph{}, err
	}
	causes := map[resource.ID]bool{}
	for _, id := range row.Because() {
		causes[id] = id != row.ID
	}
	for _, id := range ids {
		r := rows[id]
		if r == nil { // it was forgotten during the read
			continue
		}
		n := c.add(r, statusOf(r, claimed), false)
		n.Cause = causes[id]
	}
	out := c.graph()
	out.Total, out.Left = out.Total+left, left
	return out, nil
}

// folded returns the resources that match the filter of a query, in boxes.
func (s *Service) folded(
	ctx context.Context, env string, q Query, g *version.Graph, claimed *deploy.Claimed,
) (Graph, error) {
	filter, err := state.ParseFilter(q.Filter)
	if err != nil {
		return Graph{}, err
	}
	c := newCollector(g, q)
	err = s.Env.Engine.EachRow(ctx, env, filter, func(r *state.Row) error {
		if filter.Live(r, claimed.Running[r.ID]) {
			c.add(r, statusOf(r, claimed), false)
		}
		return nil
	})
	if err := s.Env.CheckFound(ctx, env, len(c.boxes), err); err != nil {
		return Graph{}, err
	}
	if q.Outside {
		rows, err := s.rows(ctx, env, c.outside())
		if err != nil {
			return Graph{}, err
		}
		for _, r := range rows {
			c.add(r, statusOf(r, claimed), true)
		}
	}
	return c.graph(), nil
}

// maxAsked is how many rows are read by id at a time.
const maxAsked = 1000

// rows returns the rows of ids; those that do not exist are left out.
func (s *Service) rows(
	ctx context.Context, env string, ids []resource.ID,
) (map[resource.ID]*state.Row, error) {
	out := make(map[resource.ID]*state.Row, len(ids))
	for len(ids) > 0 {
		part := ids[:min(len(ids), maxAsked)]
		ids = ids[len(part):]
		rows, err := s.Env.Engine.State.Rows(ctx, env, part)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read resources", err)
		}
		for i := range rows {
			out[rows[i].ID] = &rows[i]
		}
	}
	return out, nil
}
