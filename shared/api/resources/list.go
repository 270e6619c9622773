package resources

import (
	"context"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api/paging"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Query selects a page of resources.
type Query struct {
	paging.Query
	Filter []string // terms that state.ParseFilter reads
}

// ResourcesPage implements Home. A page is empty only at the end of the list.
func (s *Service) ResourcesPage(
	ctx context.Context, env string, q Query,
) (paging.Page[Resource], error) {
	none := paging.Page[Resource]{}
	find, err := q.find()
	if err != nil {
		return none, err
	}
	claimed, err := s.Env.Engine.Claimed(ctx, env)
	if err != nil {
		return none, err
	}
	find.Limit = q.Size() + 1
	found, err := s.found(ctx, env, find, &claimed)
	if err != nil {
		return none, err
	}
	if q.Cursor == "" { // other pages continue an earlier answer
		if err := s.Env.CheckFound(ctx, env, len(found.Rows), nil); err != nil {
			return none, err
		}
	}
	p := paging.NewPager[Resource](q.Size())
	for i := range found.Rows {
		ok, err := p.Add(resourceOf(&found.Rows[i], &claimed))
		if err != nil {
			return none, err
		}
		if !ok {
			p.Page.Next = cursorOf(find.Order, &found.Rows[i-1])
			break
		}
	}
	if q.Count {
		p.Page.Count = &paging.Count{Number: found.Count, More: found.More}
	}
	return p.Page, nil
}

// find returns the query for the rows of a page, without its limit.
func (q *Query) find() (out state.RowQuery, err error) {
	if out.Filter, err = state.ParseFilter(q.Filter); err != nil {
		return out, err
	}
	by, descending, err := q.SortedBy("id", "status")
	switch {
	case err != nil:
		return out, err
	case by == "status" && descending:
		return out, fault.New(fault.Usage, "", "this list is not sorted by %s", q.Sort).
			WithHint("sort by status: the worst comes first")
	case by == "status":
		out.Order = state.WorstFirst
	case descending:
		out.Order = state.ByIDDescending
	}
	if q.Count {
		out.Count = paging.MaxCount
	}
	if q.Cursor == "" {
		return out, nil
	}
	out.After = &state.Place{ID: resource.ID(q.Cursor)}
	if out.Order == state.WorstFirst {
		status, id, ok := strings.Cut(q.Cursor, " ")
		out.After = &state.Place{Status: state.Status(status), ID: resource.ID(id)}
		if !ok || !slices.Contains(state.ByUrgency(), out.After.Status) {
			err = fault.New(fault.Usage, "", "this is not a cursor of this list")
		}
	}
	return out, err
}

// cursorOf returns the cursor of the page after a row.
func cursorOf(order state.Order, r *state.Row) string {
	if order == state.WorstFirst {
		return string(r.Status()) + " " + string(r.ID)
	}
	return string(r.ID)
}

// found returns a page of rows. The store finds all but the running resources, of which only the
// leases know; they are few, and are read one by one if the filter is about what they are doing.
func (s *Service) found(
	ctx context.Context, env string, q state.RowQuery, claimed *deploy.Claimed,
) (state.RowPage, error) {
	f := &q.Filter
	if len(f.Statuses) == 0 && f.Deploying == nil {
		return s.Env.Engine.FindRows(ctx, env, q)
	}
	search := state.NewRowSearch(q)
	ids := slices.Sorted(maps.Keys(claimed.Running))
	if f.Deploying == nil || *f.Deploying {
		rows, err := s.Env.Engine.State.Rows(ctx, env, ids)
		if err != nil {
			return state.RowPage{}, fault.Wrap(fault.Unknown, "read resources", err)
		}
		for i := range rows {
			if r := &rows[i]; f.Live(r, true) {
				search.AddMatch(r)
			}
		}
	}
	rest := q
	rest.Without = ids
	rest.Filter.Statuses = slices.DeleteFunc(slices.Clone(f.Statuses),
		func(s state.Status) bool { return s == state.StatusDeploying })
	if f.Deploying != nil && *f.Deploying || len(f.Statuses) > 0 && len(rest.Filter.Statuses) == 0 {
		return search.Page(), nil // only running resources match
	}
	page, err := s.Env.Engine.FindRows(ctx, env, rest)
	if err == nil {
		search.AddPage(page)
	}
	return search.Page(), err
}
