package versions

import (
	"context"

	"southbound/shared/api/document"
	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// DescriptionsPage implements Home. Its cursors are ids. It decodes the resources of the page alone.
func (s *Service) DescriptionsPage(
	ctx context.Context, env string, number int, q Query,
) (paging.Page[document.Description], error) {
	none := paging.Page[document.Description]{}
	filter, err := state.ParseFilter(q.Filter)
	if err == nil && filter.OfState() {
		err = fault.New(fault.Usage, "read filter", "resources of a version have no state").
			WithHint("use type=, agent=, set=, id~=, an id or a glob of one")
	}
	if err != nil {
		return none, err
	}
	_, descending, err := q.SortedBy("id")
	if err != nil {
		return none, err
	}
	v, err := s.Env.Engine.VersionOf(ctx, env, number)
	if err != nil {
		return none, err
	}
	list, err := s.Env.Engine.VersionListing(ctx, &v)
	if err != nil {
		return none, err
	}
	var ids []resource.ID
	n := 0
	for i := range list.IDs {
		if descending {
			i = len(list.IDs) - 1 - i
		}
		id := list.IDs[i]
		behind := q.Cursor == "" || (string(id) > q.Cursor) != descending && string(id) != q.Cursor
		if !filter.Picks(id, list.Set(i)) {
			continue
		}
		if n++; behind && len(ids) <= q.Size() { // and one that the page has no room for
			ids = append(ids, id)
		}
		if len(ids) > q.Size() && (!q.Count || n > paging.MaxCount) {
			break
		}
	}
	return s.describe(ctx, &v, ids, n, &q)
}

// describe returns the page with the first of some resources, of which n match the query.
func (s *Service) describe(
	ctx context.Context, v *state.Version, ids []resource.ID, n int, q *Query,
) (paging.Page[document.Description], error) {
	p := paging.NewPager[document.Description](q.Size())
	shown := ids[:min(len(ids), q.Size())]
	found, err := s.Env.Engine.VersionResources(ctx, v, shown)
	if err != nil {
		return p.Page, err
	}
	items := make([]document.Description, len(found))
	for i := range found {
		items[i] = document.Describe(&found[i])
	}
	if err := s.addPlaces(ctx, v, items); err != nil {
		return p.Page, err
	}
	fits := 0
	for ; fits < len(items); fits++ {
		if ok, err := p.Add(items[fits]); !ok || err != nil {
			if err != nil {
				return p.Page, err
			}
			break
		}
	}
	if fits < len(ids) && fits > 0 {
		p.Page.Next = string(ids[fits-1])
	}
	if q.Count {
		p.Page.Count = paging.CountOf(n)
	}
	return p.Page, nil
}
