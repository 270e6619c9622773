package versions

import (
	"context"
	"strconv"

	"southbound/shared/api/paging"
	"southbound/shared/fault"
)

// VersionsPage returns a page of the versions, ascending. Its cursors are numbers of versions, since
// old versions are removed.
func (s *Service) VersionsPage(
	ctx context.Context, env string, g paging.Paging,
) (paging.Page[Version], error) {
	after := 0
	if g.Cursor != "" {
		var err error
		if after, err = strconv.Atoi(g.Cursor); err != nil {
			return paging.Page[Version]{}, fault.New(fault.Usage, "", "this is not a cursor of this list")
		}
	}
	list, err := s.Versions(ctx, env)
	err = s.Env.CheckFound(ctx, env, len(list), err)
	p := paging.NewPager[Version](g.Limit.Limit)
	for _, v := range list {
		if v.Version <= after {
			continue
		}
		if ok, _ := p.Add(v); !ok {
			p.Page.Next = strconv.Itoa(p.Page.Items[len(p.Page.Items)-1].Version)
			break
		}
	}
	return p.Page, err
}
