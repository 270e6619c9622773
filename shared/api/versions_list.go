package api

import (
	"context"
	"strconv"

	"southbound/shared/fault"
)

// VersionsPage returns a page of the versions, ascending. Its cursors are numbers of versions, since
// old versions are removed.
func (s *versionService) VersionsPage(
	ctx context.Context, env string, g Paging,
) (Page[Version], error) {
	after := 0
	if g.Cursor != "" {
		var err error
		if after, err = strconv.Atoi(g.Cursor); err != nil {
			return Page[Version]{}, fault.New(fault.Usage, "", "this is not a cursor of this list")
		}
	}
	list, err := s.Versions(ctx, env)
	err = s.Env.known(ctx, env, len(list), err)
	p := newPager[Version](g.Limit.Limit)
	for _, v := range list {
		if v.Version <= after {
			continue
		}
		if ok, _ := p.add(v); !ok {
			p.page.Next = strconv.Itoa(p.page.Items[len(p.page.Items)-1].Version)
			break
		}
	}
	return p.page, err
}
