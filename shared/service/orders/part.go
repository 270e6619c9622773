package orders

import (
	"cmp"
	"strconv"

	"southbound/shared/fault"
)

// Place selects a page of a list. After and Before are places in the list, from Part.Next and
// Part.Prev.
type Place struct {
	// After selects the first entries after a place, and Before the last entries before a place.
	After, Before string
	Limit         int // 0: the page size
	// Count requests the counts of the list, which may cost more than the page.
	Count bool
}

// Part is a page of a list.
type Part[T any] struct {
	Items []T
	// Next is the place after which the next page begins. Prev is the place before which the
	// previous page ends. Each is "" if there is no such page.
	Next, Prev string
	Counts
}

// Counts holds the length of a list, and the numbers of entries before and after a page. It is zero
// unless it was requested.
type Counts struct{ Total, Before, After int }

// count sets the counts from the numbers of entries before and after the page.
func (p *Part[T]) count(ahead, behind int) {
	p.Counts = Counts{Total: ahead + len(p.Items) + behind, Before: ahead, After: behind}
}

// window selects a page of a list whose entries are added in order.
type window[T any] struct {
	limit int
	// after and before compare an entry with the requested place: negative if the entry comes
	// first.
	after, before func(*T) int
	page          []T
	ahead, behind int
}

func (w *window[T]) add(one T) {
	switch {
	case w.after != nil && w.after(&one) <= 0:
		w.ahead++
	case w.before != nil && w.before(&one) >= 0:
		w.behind++
	case len(w.page) < w.limit:
		w.page = append(w.page, one)
	case w.before != nil && w.after == nil: // keep the last entries before the place
		w.page = append(w.page[1:], one)
		w.ahead++
	default:
		w.behind++
	}
}

// noPlace is the error for an invalid place.
func noPlace() error {
	return fault.New(fault.Usage, "", "this is not a place in this list").
		WithHint("begin at the beginning, with the same filter and order")
}

// numbered returns a window of a list whose places are the numbers of its entries.
func numbered[T any](
	p *Place, limit int, descending bool, number func(*T) int64,
) (*window[T], error) {
	w := &window[T]{limit: limit}
	for _, b := range []struct {
		text string
		to   *func(*T) int
	}{{p.After, &w.after}, {p.Before, &w.before}} {
		if b.text == "" {
			continue
		}
		at, err := strconv.ParseInt(b.text, 10, 64)
		if err != nil {
			return nil, noPlace()
		}
		*b.to = func(one *T) int {
			if descending {
				return cmp.Compare(at, number(one))
			}
			return cmp.Compare(number(one), at)
		}
	}
	return w, nil
}

// partOf returns the page of a window of numbered entries.
func partOf[T any](w *window[T], at *Place, number func(*T) int64) Part[T] {
	p := Part[T]{Items: w.page}
	if p.Items == nil {
		p.Items = []T{}
	}
	if at.Count {
		p.count(w.ahead, w.behind)
	}
	if n := len(p.Items); n > 0 {
		if w.behind > 0 {
			p.Next = strconv.FormatInt(number(&p.Items[n-1]), 10)
		}
		if w.ahead > 0 {
			p.Prev = strconv.FormatInt(number(&p.Items[0]), 10)
		}
	}
	return p
}

// Numbered returns a page of a list. Places are the numbers of entries, from 1.
func Numbered[T any](all []T, p Place) (Part[T], error) {
	type entry struct {
		n   int64
		one T
	}
	number := func(e *entry) int64 { return e.n }
	w, err := numbered(&p, p.Limit, false, number)
	if err != nil {
		return Part[T]{}, err
	}
	for i := range all {
		w.add(entry{int64(i + 1), all[i]})
	}
	from := partOf(w, &p, number)
	out := Part[T]{Items: []T{}, Next: from.Next, Prev: from.Prev, Counts: from.Counts}
	for i := range from.Items {
		out.Items = append(out.Items, from.Items[i].one)
	}
	return out, nil
}
