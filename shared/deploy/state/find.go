package state

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Order is the order of a list of rows.
type Order int

// The orders.
const (
	ByID Order = iota
	ByIDDescending
	WorstFirst // by status, the worst first, then by id
)

// Place is the place of a row in a list.
type Place struct {
	Status Status // only of the order WorstFirst
	ID     resource.ID
}

// PlaceOf returns the place of a row.
func PlaceOf(r *Row) Place { return Place{r.Status(), r.ID} }

// Compare compares two places of an order.
func (o Order) Compare(a, b Place) int {
	switch byID := cmp.Compare(a.ID, b.ID); o {
	case ByIDDescending:
		return -byID
	case WorstFirst:
		return cmp.Or(cmp.Compare(Urgency(b.Status), Urgency(a.Status)), byID)
	default:
		return byID
	}
}

// ByUrgency returns the statuses that rows have, the worst first.
func ByUrgency() []Status {
	return slices.DeleteFunc(slices.Clone(urgencies),
		func(s Status) bool { return s == StatusDeploying })
}

// RowQuery selects a page of rows.
type RowQuery struct {
	Filter  Filter // without terms that rows do not decide: see Filter.Live
	Without []resource.ID
	Order   Order
	After   *Place // the place of the last row of the previous page; nil: the first page
	Limit   int    // at least 1
	Count   int    // how many of the rows that match are counted, on all pages; 0: they are not
}

// RowPage is a page of rows. It has fewer rows than the limit only at the end of the list.
type RowPage struct {
	Rows []Row
	// Count is the number of rows that match, at most that of the query; More: there are more.
	Count int
	More  bool
}

// RowFinder may be implemented by a State that finds rows by an index.
type RowFinder interface {
	FindRows(ctx context.Context, env string, q RowQuery) (RowPage, error)
}

// FindRows returns a page of rows. If the state has no index, it reads rows until it has found the
// page.
func (c *Client) FindRows(ctx context.Context, env string, q RowQuery) (RowPage, error) {
	if f, is := c.State.(RowFinder); is {
		page, err := f.FindRows(ctx, env, q)
		return page, fault.Wrap(fault.Unknown, "read resources", err)
	}
	s := NewRowSearch(q)
	err := c.EachRow(ctx, env, func(r *Row) error {
		if s.Add(r); s.Done() {
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return RowPage{}, err
	}
	return s.Page(), nil
}

// EachFound calls f for every row that matches a filter, in order of id. It reads only these rows if
// the state has an index.
func (c *Client) EachFound(ctx context.Context, env string, filter Filter, f func(*Row) error) error {
	if _, is := c.State.(RowFinder); !is {
		return c.EachRow(ctx, env, func(r *Row) error {
			if !filter.Live(r, false) {
				return nil
			}
			return f(r)
		})
	}
	for q := (RowQuery{Filter: filter, Limit: c.Page}); ; {
		page, err := c.FindRows(ctx, env, q)
		if err != nil {
			return err
		}
		for i := range page.Rows {
			if err := f(&page.Rows[i]); err != nil {
				return err
			}
		}
		if len(page.Rows) < q.Limit {
			return nil
		}
		last := PlaceOf(&page.Rows[len(page.Rows)-1])
		q.After = &last
	}
}

// errFound ends a search.
var errFound = errors.New("the page was found")

// RowSearch collects the page of a query from rows.
type RowSearch struct {
	q       RowQuery
	without map[resource.ID]bool
	page    RowPage
}

// NewRowSearch returns a search for a page.
func NewRowSearch(q RowQuery) *RowSearch {
	s := &RowSearch{q: q, without: make(map[resource.ID]bool, len(q.Without))}
	for _, id := range q.Without {
		s.without[id] = true
	}
	return s
}

// Add adds a row, if it matches. Rows may be added in any order, each once.
func (s *RowSearch) Add(r *Row) {
	if !s.without[r.ID] && s.q.Filter.Live(r, false) {
		s.AddMatch(r)
	}
}

// AddPage adds a page of the same query with other rows.
func (s *RowSearch) AddPage(p RowPage) {
	s.page.Rows = append(s.page.Rows, p.Rows...)
	s.page.More = s.page.More || p.More || s.page.Count+p.Count > s.q.Count
	s.page.Count = min(s.page.Count+p.Count, s.q.Count)
}

// AddMatch adds a row that the caller has selected.
func (s *RowSearch) AddMatch(r *Row) {
	if s.page.Count < s.q.Count {
		s.page.Count++
	} else {
		s.page.More = s.q.Count > 0
	}
	if s.q.After != nil && s.q.Order.Compare(PlaceOf(r), *s.q.After) <= 0 {
		return
	}
	if s.page.Rows = append(s.page.Rows, *r); len(s.page.Rows) >= 2*s.q.Limit+64 {
		s.cut()
	}
}

// Done reports whether more rows change nothing, if rows are added in order of id.
func (s *RowSearch) Done() bool {
	return s.q.Order == ByID && len(s.page.Rows) >= s.q.Limit && (s.q.Count == 0 || s.page.More)
}

// cut drops the rows that the page has no room for.
func (s *RowSearch) cut() {
	slices.SortFunc(s.page.Rows, func(a, b Row) int {
		return s.q.Order.Compare(PlaceOf(&a), PlaceOf(&b))
	})
	s.page.Rows = s.page.Rows[:min(len(s.page.Rows), s.q.Limit)]
}

// Page returns the page.
func (s *RowSearch) Page() RowPage {
	s.cut()
	return s.page
}
