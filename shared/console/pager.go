package console

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// pagerView is the template "pager".
type pagerView struct {
	First    string // the URL of the first page; "": this is it
	Previous string // the URL of the page before; "": there is none, or it is not known
	Next     string // the URL of the next page; "": there is none
	Text     string // such as "50 of 1,204"
}

// paramWas has the cursors of the pages before this one, the newest last: pages of lists have no
// cursor for the page before. The first page has none, and is named firstPage.
const (
	paramWas  = "was"
	firstPage = "-"
	maxWas    = 8
)

// turns returns the pager of a list at a path below the environment. q are the other parameters of
// its address, cursor is the name of the parameter with the place, and next the place of the page
// after; "" at the end.
func (r *request) turns(path string, q url.Values, cursor, next string) pagerView {
	at := func(place string, was []string) string {
		with := maps.Clone(q)
		if with == nil {
			with = url.Values{}
		}
		with.Del(paramWas)
		with.Del(cursor)
		if place != "" && place != firstPage {
			with.Set(cursor, place)
			with[paramWas] = was[max(0, len(was)-maxWas):]
		}
		return r.urlOf(path, with)
	}
	var p pagerView
	now, was := r.URL.Query().Get(cursor), r.URL.Query()[paramWas]
	if now != "" {
		p.First = at("", nil)
		if n := len(was); n > 0 {
			p.Previous = at(was[n-1], was[:n-1])
		}
	}
	if next != "" {
		p.Next = at(next, append(slices.Clone(was), cmp.Or(now, firstPage)))
	}
	return p
}

// turnsHere returns the pager of a list at the address of this page.
func (r *request) turnsHere(cursor, next string) pagerView {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/console/"+url.PathEscape(r.Env)+"/")
	return r.turns(path, r.URL.Query(), cursor, next)
}
