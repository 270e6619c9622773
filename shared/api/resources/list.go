package resources

import (
	"context"

	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Query selects a page of resources.
type Query struct {
	Filter []string // terms that state.ParseFilter reads
	Cursor string   // the Next of the previous page; "": the first page
	Limit  int
}

// scanRows is how many rows one read returns, and maxScanned how many rows a page may read, however
// few of them match.
const (
	scanRows   = 1000
	maxScanned = 50_000
)

// ResourcesPage returns a page of the resources that match, in order of id. A page with a Next may
// be empty.
func (s *Service) ResourcesPage(
	ctx context.Context, env string, q Query,
) (paging.Page[Resource], error) {
	filter, err := state.ParseFilter(q.Filter)
	if err != nil {
		return paging.Page[Resource]{}, err
	}
	claimed, err := s.Env.Engine.Claimed(ctx, env)
	if err != nil {
		return paging.Page[Resource]{}, err
	}
	p := paging.NewPager[Resource](q.Limit)
	after := resource.ID(q.Cursor)
	for scanned := 0; ; scanned += scanRows {
		if scanned >= maxScanned {
			p.Page.Next = string(after)
			return p.Page, nil
		}
		rows, err := s.Env.Engine.State.ScanRows(ctx, env, after, scanRows)
		if err != nil {
			return p.Page, fault.Wrap(fault.Unknown, "read resources", err)
		}
		for n := range rows {
			l := resourceOf(&rows[n], &claimed)
			if !filter.Match(&rows[n]) || filter.Status != "" && l.Status != filter.Status {
				after = l.ID
				continue
			}
			ok, err := p.Add(l)
			if err != nil {
				return p.Page, err
			}
			if !ok {
				p.Page.Next = string(after)
				return p.Page, nil
			}
			after = l.ID
		}
		if len(rows) < scanRows {
			return p.Page, s.Env.CheckFound(ctx, env, scanned+len(rows)+len(q.Cursor), nil)
		}
	}
}
