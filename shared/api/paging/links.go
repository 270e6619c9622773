// Package paging makes pages of lists: bounded in items and bytes, with cursors that stay valid
// while the list changes. Every list of the API is paged here, for our clients (Page) and for
// public clients of the peer (Links, ListMetadata).
package paging

import (
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/service/orders"
)

// Links are the addresses of pages of a list. In each the place is the last parameter: the peer's
// web console cuts an address at start= or end= and appends the rest to its own.
type Links struct {
	First string `json:"first,omitempty"`
	Prev  string `json:"prev,omitempty"`
	Self  string `json:"self"`
	Next  string `json:"next,omitempty"`
}

// ListMetadata is the length of a list, and the place of a page in it.
type ListMetadata struct {
	Total    *int `json:"total,omitempty" doc:"entries of the list; absent with count=false"`
	Before   *int `json:"before,omitempty" doc:"number of entries before the page"`
	After    *int `json:"after,omitempty" doc:"number of entries after the page"`
	PageSize int  `json:"page_size" doc:"maximum number of entries of a page"`
}

// WithCounts is the part of a request for a list that asks for counts.
type WithCounts struct {
	Count bool `query:"count" default:"true" doc:"count the entries around the page; may cost more than the page itself"`
}

// Linked is a part of a request for a list: links are relative to the requested address.
type Linked struct{ self url.URL }

// Resolve implements huma.Resolver.
func (l *Linked) Resolve(c huma.Context) []error {
	l.self = c.URL()
	return nil
}

// atPlaces are a part of a request for a list by start and end, each a place in the list.
type atPlaces interface{ places() (start, end string) }

// ByCreation are places in lists of instances.
type ByCreation struct {
	Start string `query:"start" minLength:"1" maxLength:"4096" pattern:"^[A-Za-z0-9_-]+$" doc:"entries after this position, as in links.next and links.prev"`
	End   string `query:"end" minLength:"1" maxLength:"4096" pattern:"^[A-Za-z0-9_-]+$" doc:"entries before this position"`
}

func (b *ByCreation) places() (start, end string) { return b.Start, b.End }

// ByNumber are places in lists whose entries have numbers.
type ByNumber struct {
	Start string `query:"start" pattern:"^[0-9]{1,18}$" doc:"entries with a greater number"`
	End   string `query:"end" pattern:"^[0-9]{1,18}$" doc:"entries with a smaller number"`
}

func (b *ByNumber) places() (start, end string) { return b.Start, b.End }

// ByTime are places in lists of orders.
type ByTime struct {
	Start string `query:"start" pattern:"^[0-9]{1,16}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" doc:"orders placed after this position, as in links.next and links.prev"`
	End   string `query:"end" pattern:"^[0-9]{1,16}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" doc:"orders placed before this position"`
}

func (b *ByTime) places() (start, end string) { return b.Start, b.End }

// PlaceOf returns the place in a request for a list.
func PlaceOf(at atPlaces, descending bool, limit int, c WithCounts) orders.Place {
	p := orders.Place{Limit: limit, Count: c.Count}
	p.After, p.Before = at.places()
	if descending {
		p.After, p.Before = p.Before, p.After
	}
	return p
}

// Descending parses the order of a list: by is the sort key, "" if sort is empty.
func Descending(sort string, otherwise bool) (by string, descending bool) {
	by, order, given := strings.Cut(sort, ".")
	if sort == "" {
		return "", otherwise
	}
	return by, given && order == "desc"
}

// Around returns the links and the metadata of a page.
func Around[T any](
	l *Linked, p *orders.Part[T], descending bool, limit int, c WithCounts,
) (Links, ListMetadata) {
	q := l.self.Query()
	start, end := q.Get("start"), q.Get("end")
	q.Del("start")
	q.Del("end")
	at := func(name, place string) string {
		u := url.URL{Path: l.self.Path, RawPath: l.self.RawPath, RawQuery: q.Encode()}
		if place != "" {
			if u.RawQuery != "" {
				u.RawQuery += "&"
			}
			u.RawQuery += name + "=" + url.QueryEscape(place)
		}
		return u.String()
	}
	forward, back := "start", "end"
	if descending {
		forward, back = back, forward
	}
	links := Links{Self: at("start", start)}
	if end != "" {
		links.Self = at("end", end)
	}
	if p.Next != "" {
		links.Next = at(forward, p.Next)
	}
	if p.Prev != "" {
		links.First, links.Prev = at("", ""), at(back, p.Prev)
	}
	m := ListMetadata{PageSize: limit}
	if c.Count {
		m.Total, m.Before, m.After = &p.Total, &p.Before, &p.After
	}
	return links, m
}

// PartOf returns an answer as a part of a list.
func PartOf[T any](items []T, links Links, m ListMetadata) orders.Part[T] {
	p := orders.Part[T]{Items: items, Next: placeIn(links.Next), Prev: placeIn(links.Prev)}
	for from, to := range map[*int]*int{
		m.Total: &p.Total, m.Before: &p.Before, m.After: &p.After,
	} {
		if from != nil {
			*to = *from
		}
	}
	return p
}

// placeIn returns the place of a link; "" if there is none.
func placeIn(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	q := u.Query()
	if end := q.Get("end"); end != "" {
		return end
	}
	return q.Get("start")
}

// SetPlace adds a place to the query of a request for a list, in which it is the last parameter.
func SetPlace(q url.Values, p *orders.Place, descending bool) {
	start, end := p.After, p.Before
	if descending {
		start, end = end, start
	}
	if start != "" {
		q.Set("start", start)
	}
	if end != "" {
		q.Set("end", end)
	}
	if !p.Count {
		q.Set("count", "false")
	}
}
