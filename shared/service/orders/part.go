package orders

import (
	"cmp"
	"strconv"

	"southbound/shared/fault"
)

// Place says which part of a list is asked for. After and Before are places in the list, as
// Part.Next and Part.Prev name them.
type Place struct {
	// After asks for the first entries behind a place, and Before for the last in front of one.
	After, Before string
	Limit         int // 0: as many as a page holds
	// Count asks for the counts of the list, which may cost more than the page.
	Count bool
}

// Part is a part of a list.
type Part[T any] struct {
	Items []T
	// Next is the place behind which the following part begins, and Prev the place in front of
	// which the previous part ends; "" where there is none.
	Next, Prev string
	Counts
}

// Counts says how long a list is, and how much of it stands in front of a part and behind it. It is
// zero where nobody asked for it.
type Counts struct{ Total, Before, After int }

// count fills in the counts from the entries in front of the part and behind it.
func (p *Part[T]) count(ahead, behind int) {
	p.Counts = Counts{Total: ahead + len(p.Items) + behind, Before: ahead, After: behind}
}

// window picks a part out of a list that is added to it in order.
type window[T any] struct {
	limit int
	// after and before compare an entry with the place that is asked for: negative in front of it.
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
	case w.before != nil && w.after == nil: // the last ones in front of the place are wanted
		w.page = append(w.page[1:], one)
		w.ahead++
	default:
		w.behind++
	}
}

// noPlace is the error for a place that no list has named.
func noPlace() error {
	return fault.New(fault.Usage, "", "this is not a place in this list").
		WithHint("begin at the beginning, with the same filter and order")
}

// numbered makes a window of a list whose entries have numbers, which are its places.
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

// partOf returns the part that a window of numbered entries has picked.
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

// Numbered returns a part of a list. Places are the numbers of entries, from 1.
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
