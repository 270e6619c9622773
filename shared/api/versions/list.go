package versions

import (
	"context"
	"slices"
	"strconv"

	"southbound/shared/api/paging"
	"southbound/shared/fault"
)

// VersionsPage implements Home. Its cursors are numbers of versions, since old versions are
// removed.
func (s *Service) VersionsPage(
	ctx context.Context, env string, q paging.Query,
) (paging.Page[Version], error) {
	_, newest, err := q.SortedBy("version")
	after := 0
	if q.Cursor != "" && err == nil {
		if after, err = strconv.Atoi(q.Cursor); err != nil {
			err = fault.New(fault.Usage, "", "this is not a cursor of this list")
		}
	}
	if err != nil {
		return paging.Page[Version]{}, err
	}
	list, err := s.Versions(ctx, env)
	err = s.Env.CheckFound(ctx, env, len(list), err)
	if newest {
		slices.Reverse(list)
	}
	p := paging.NewPager[Version](q.Size())
	for _, v := range list {
		if after > 0 && (newest && v.Version >= after || !newest && v.Version <= after) {
			continue
		}
		if ok, _ := p.Add(v); !ok {
			p.Page.Next = strconv.Itoa(p.Page.Items[len(p.Page.Items)-1].Version)
			break
		}
	}
	if q.Count {
		p.Page.Count = paging.CountOf(len(list))
	}
	return p.Page, err
}
