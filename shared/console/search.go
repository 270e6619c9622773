package console

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"southbound/shared/api/search"
	"southbound/shared/resource"
)

// searchPages is the page that finds things by a word.
func (s *site) searchPages() []route {
	return []route{{pattern: "GET /console/{env}/search", page: searchPage}}
}

// searchView is the result of a search.
type searchView struct {
	Word   string
	List   string
	Groups []hitGroup
	Failed *problemView
	More   bool
	Asked  bool
}

// hitGroup are the hits of one kind.
type hitGroup struct {
	Name string
	Hits []hitRow
}

// hitRow is a thing whose name matches.
type hitRow struct {
	URL    string // "": it has no page
	Name   string
	Whole  string
	Label  string
	Of     *resourceRef // a resource
	Status *statusView
	State  string
}

// hitKinds are the kinds of hits in the order of the page, and their headings.
func hitKinds() []struct{ kind, name string } {
	return []struct{ kind, name string }{
		{search.KindResource, "Resources"}, {search.KindInstance, "Instances"}, {search.KindService, "Services"},
		{search.KindAgent, "Agents"}, {search.KindParameter, "Parameters"}, {search.KindVersion, "Versions"},
	}
}

func searchPage(ctx context.Context, r *request) (view, error) {
	word := strings.TrimSpace(r.URL.Query().Get(paramWord))
	d := searchView{Word: word, List: r.url("search"), Asked: word != ""}
	if word != "" {
		hits, err := r.home(ctx).Search(ctx, r.Env, word, 0)
		if err != nil {
			d.Failed, d.Asked = r.problem(err), false
		}
		if to := r.onlyExact(&hits); to != "" {
			return view{Redirect: to}, nil
		}
		d.Groups, d.More = r.hitGroups(&hits), hits.More
	}
	return view{Template: "search.html", Title: "Search", Data: d}, nil
}

// onlyExact returns the page of the thing that has exactly the searched name, if it is the only one.
func (r *request) onlyExact(hits *search.Hits) string {
	to := ""
	for i := range hits.Items {
		if h := &hits.Items[i]; h.Exact {
			if to != "" {
				return ""
			}
			to = r.hitURL(h)
		}
	}
	return to
}

// hitURL returns the page of a hit; "": there is none.
func (r *request) hitURL(h *search.Hit) string {
	pattern, to := "", ""
	switch h.Kind {
	case search.KindResource:
		return r.url("resource", "id", h.ID)
	case search.KindAgent:
		return r.agentURL(h.ID)
	case search.KindVersion:
		n, _ := strconv.Atoi(h.ID)
		return r.versionURL(n)
	case search.KindParameter:
		return r.url("parameter", "name", h.ID)
	case search.KindService:
		pattern, to = "GET /console/{env}/services/{service}", "services/"+url.PathEscape(h.ID)
	case search.KindInstance:
		pattern, to = "GET /console/{env}/instances/{id}", "instances/"+url.PathEscape(h.ID)
	}
	if !r.hasPage(pattern) {
		return ""
	}
	return r.url(to)
}

// hitGroups returns the hits by kind.
func (r *request) hitGroups(hits *search.Hits) []hitGroup {
	var out []hitGroup
	for _, k := range hitKinds() {
		g := hitGroup{Name: k.name}
		for i := range hits.Items {
			h := &hits.Items[i]
			if h.Kind != k.kind {
				continue
			}
			row := hitRow{URL: r.hitURL(h), Name: cutMiddle(line(h.ID), maxPart), Whole: line(cutEnd(h.ID, 500)),
				State: line(h.State)}
			if row.Label = shorten(h.Label, 200); h.Label == h.ID {
				row.Label = ""
			}
			if h.Kind == search.KindResource {
				ref := r.ref(resource.ID(h.ID))
				row.Of = &ref
			}
			if h.Status != "" {
				s := statusOf(h.Status)
				row.Status = &s
			}
			g.Hits = append(g.Hits, row)
		}
		if len(g.Hits) > 0 {
			out = append(out, g)
		}
	}
	return out
}
