package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"southbound/shared/api"
)

// route is one row of the table of pages.
type route struct {
	// pattern is a pattern of http.ServeMux, such as "GET /console/{env}/resources".
	pattern string
	page    pageFunc
	// raw, if not nil, answers in place of page. The session is checked, the headers are set.
	raw func(w http.ResponseWriter, r *request)
}

// pageFunc is a page: it returns a view of finished texts, numbers and URLs, and no functions that
// read from the home. An error is shown in place of the page.
type pageFunc func(ctx context.Context, r *request) (view, error)

// view is the content of a page.
type view struct {
	Template string // the file in templates, such as "resources.html"
	Title    string // the heading, and the name of the tab
	Section  string // the current entry of the navigation
	Data     any    // .Data in the template
	Status   int    // 0: 200
	Redirect string // after a POST: the URL to go on at, with status 303, in place of a page
}

// routes returns the table of pages: one function for each file.
func (s *site) routes() []route {
	var all []route
	for _, rows := range [][]route{
		s.framePages(), s.livePages(),
		s.overviewPages(), s.resourcesPages(), s.resourcePages(), s.versionsPages(),
		s.comparePages(), s.dryrunPages(), s.agentsPages(), s.actionsPages(), s.parametersPages(),
		s.servicesPages(), s.inventoryPages(), s.instancePages(), s.ordersPages(),
		s.documentationPages(), s.graphPages(), s.lifecyclePages(), s.searchPages(),
		s.auditPages(),
	} {
		all = append(all, rows...)
	}
	return all
}

// register builds the mux from the table.
func (s *site) register() {
	for _, row := range s.routes() {
		s.has[row.pattern] = true
		h := s.page(row.page)
		if raw := row.raw; raw != nil {
			h = func(w http.ResponseWriter, r *http.Request) {
				who, _ := r.Context().Value(sessionKey{}).(*session)
				raw(w, s.request(r, who))
			}
		}
		s.pages.HandleFunc(row.pattern, h)
	}
}

// request is a request for a page.
//
// Large: each page makes its rows, times and URLs from it, in a file of its own.
type request struct {
	*http.Request
	// Env is the environment of the page; "": none.
	Env string

	site    *site
	who     *session
	said    string // the message for the page after a redirect
	flashed string // the message of the action before
	tz      string // the name of the time zone in the URL; "": none
	in      *time.Location
}

func (s *site) request(r *http.Request, who *session) *request {
	q := &request{Request: r, Env: r.PathValue("env"), site: s, who: who, tz: r.URL.Query().Get("tz")}
	q.in = zoneOf(q.tz)
	return q
}

// home returns the home for the user of a request. Its methods are called with the context that the
// page has received.
func (r *request) home(context.Context) api.Home { return r.site.home }

// now returns the time of the console.
func (r *request) now() time.Time { return r.site.o.Now() }

// url returns the URL of a path below the environment, with the values of its query in pairs. Pairs
// with an empty value are left out. The time zone of the request is kept.
func (r *request) url(path string, pairs ...string) string {
	return r.withQuery(r.site.root(url.PathEscape(r.Env)+"/"+path), pairs)
}

// root returns the URL of a path below the console, as url does for the environment.
func (r *request) root(path string, pairs ...string) string {
	return r.withQuery(r.site.root(path), pairs)
}

// at returns the URL of a path below another environment.
func (r *request) at(env, path string, pairs ...string) string {
	return r.withQuery(r.site.root(url.PathEscape(env)+"/"+path), pairs)
}

func (r *request) withQuery(path string, pairs []string) string {
	if r.tz == "" && (len(pairs) == 0 || len(pairs) == 2 && pairs[1] == "") {
		return path
	}
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Add(pairs[i], pairs[i+1])
		}
	}
	if r.tz != "" && !q.Has("tz") {
		q.Set("tz", r.tz)
	}
	if len(q) == 0 {
		return path
	}
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return path + sep + q.Encode()
}

// here returns the URL of this page with some values of its query replaced, in pairs; an empty value
// removes one.
func (r *request) here(pairs ...string) string {
	q := r.URL.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	path, _ := strings.CutPrefix(r.URL.EscapedPath(), "/console/")
	if len(q) == 0 {
		return r.site.root(path)
	}
	return r.site.root(path) + "?" + q.Encode()
}

// hasPage reports whether the console has a page, by its pattern. Links to pages that it has not are
// not rendered.
func (r *request) hasPage(pattern string) bool { return r.site.has[pattern] }

// back returns the URL in the field "back" of a form if it is one of this console, otherwise
// another.
func (r *request) back(otherwise string) string {
	to := r.PostForm.Get("back")
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.ContainsAny(to, "\\\r\n") ||
		!strings.HasPrefix(to, r.site.root("")) || strings.HasPrefix(to, "//") {
		return otherwise
	}
	return to
}

// canChange reports whether the user may change something. Forms are not rendered otherwise.
func (r *request) canChange() bool {
	return !r.site.o.ReadOnly && (r.who == nil || !r.who.readOnly)
}

// user returns the name of the user; "" if the proxy gives none.
func (r *request) user() string {
	if r.who == nil {
		return ""
	}
	return r.who.user
}
