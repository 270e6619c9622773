// Package console serves web pages over an api.Home: operators find and repair problems, customers
// order services, and both read what was done and why.
//
// A page is a function from a request to a view of finished texts, numbers and URLs (routes.go). The
// frame around it admits requests (guard.go, session.go), sets headers (headers.go), renders
// templates (render.go) and keeps moving regions current (live.go). Pages need no script; the script
// in static/console.js replaces regions and speeds up forms. See docs/design/console.md.
package console

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/fault"
)

// Options are the options of a console.
type Options struct {
	// Base is the path under which the console is served, without a final slash; "": /console.
	Base string
	// Version is the version of the program, and Where the place of the home, for people.
	Version, Where string
	// Hosts are the names, with their ports, under which browsers may reach the console. AnyAddress
	// also permits numeric addresses; see api.Guard.
	Hosts      []string
	AnyAddress bool
	// Token is the token that the sign-in page accepts and that requests for a code bear; "": only
	// codes sign in.
	Token string
	// ReadToken is a token that signs in users who may only read; "": there is none.
	ReadToken string
	// User is the name of users who have signed in with a code or a token, for the audit.
	User string
	// ReadOnly refuses every request that changes something.
	ReadOnly bool
	// Proxy, if not nil, names the users that a proxy has authenticated.
	Proxy *Proxy
	// Now returns the time; nil: time.Now.
	Now func() time.Time
	// Stop, if not nil, ends all streams when it ends, so that a server can shut down.
	Stop context.Context
}

// Proxy describes a proxy that authenticates users and passes their names in headers.
type Proxy struct {
	// Networks are the addresses of the proxy. Unix reports that the console listens on a socket
	// that only the proxy reaches; Networks are then not used.
	Networks []netip.Prefix
	Unix     bool
	// UserHeader is the header with the name of the user.
	UserHeader string
	// RoleHeader, if not empty, is the header with the roles of the user. A user without the role
	// "operator" may only read.
	RoleHeader string
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	site  *site
	serve http.Handler
}

// New returns a console over a home.
func New(home api.Home, o Options) *Console {
	o.Base = "/" + strings.Trim(cmp.Or(o.Base, "/console"), "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &site{home: home, o: o, sessions: newSessions(o), streams: &streams{}, flashes: newFlashes(o.Now),
		files: newFiles(), pages: http.NewServeMux(), has: map[string]bool{}}
	s.templates = newTemplates()
	s.icons = newIcons(assetFiles)
	s.markdown = newMarkdown()
	s.register()
	return &Console{s, s.guarded(http.HandlerFunc(s.dispatch))}
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.serve.ServeHTTP(w, r) }

// Path returns the path of the first page; with a code of Code, opening it signs in.
func (c *Console) Path(code string) string {
	if code == "" {
		return c.site.root("")
	}
	return c.site.root("enter?code=" + code)
}

// Code returns a new code for one sign-in within the next 60 seconds.
func (c *Console) Code() string { return c.site.sessions.newCode() }

// site is the state of a console.
//
// Large: each file of pages adds its rows of the table by a method.
type site struct {
	home      api.Home
	o         Options
	sessions  *sessions
	streams   *streams
	flashes   *flashes
	files     *files
	templates *templates
	icons     *icons
	markdown  *markdown
	pages     *http.ServeMux
	has       map[string]bool // the patterns of the pages that exist
}

// root returns the URL of a path below the base.
func (s *site) root(path string) string {
	if s.o.Base == "/" {
		return "/" + path
	}
	return s.o.Base + "/" + path
}

// inner returns the path of a request below the base, beginning with a slash.
func (s *site) inner(path string) (string, bool) {
	if s.o.Base == "/" {
		return path, true
	}
	rest, under := strings.CutPrefix(path, s.o.Base)
	return rest, under && (rest == "" || rest[0] == '/')
}

// dispatch answers a request that the guard has admitted: first files and sign-in, which need no
// session, then pages.
func (s *site) dispatch(w http.ResponseWriter, r *http.Request) {
	path, under := s.inner(r.URL.Path)
	switch {
	case !under:
		http.NotFound(w, r)
		return
	case path == "":
		http.Redirect(w, r, s.root(""), http.StatusMovedPermanently)
		return
	case s.files.serve(w, r, path):
		return
	}
	r = s.rebased(r, path)
	switch path {
	case "/enter":
		s.enter(w, r)
		return
	case "/signin":
		s.signIn(w, r)
		return
	case "/codes":
		s.codes(w, r)
		return
	}
	who := s.sessions.of(r)
	switch {
	case who == nil:
		s.unknown(w, r)
	case path == "/signout":
		s.signOut(w, r)
	case unsafeMethod(r.Method) && (s.o.ReadOnly || who.readOnly):
		s.fail(w, s.request(r, who), fault.New(fault.Denied, "", "this console is read-only").
			WithHint("use the command line, or ask an operator"))
	default:
		ctx := api.WithCaller(r.Context(), s.caller(who))
		s.servePage(w, r.WithContext(context.WithValue(ctx, sessionKey{}, who)), who)
	}
}

// caller returns the caller of the requests of a session.
func (s *site) caller(who *session) api.Caller {
	c := api.Caller{User: who.user, Via: api.ViaProxy, ReadOnly: s.o.ReadOnly || who.readOnly}
	if who.user == "" {
		c.User, c.Via = s.o.User, api.ViaConsole
	}
	return c
}

// rebased returns a request with a path below /console, as the patterns of routes have it.
func (s *site) rebased(r *http.Request, path string) *http.Request {
	raw, _ := s.inner(r.URL.RawPath)
	r = r.Clone(r.Context())
	r.URL.Path = "/console" + path
	if r.URL.RawPath != "" {
		r.URL.RawPath = "/console" + raw
	}
	return r
}

// servePage answers from the table of routes.
func (s *site) servePage(w http.ResponseWriter, r *http.Request, who *session) {
	if _, pattern := s.pages.Handler(r); pattern == "" && !unsafeMethod(r.Method) {
		q := s.request(r, who)
		s.fail(w, q, fault.New(fault.NotFound, "", "there is no page at this address").
			WithHint("start from %s", s.root("")))
		return
	}
	s.pages.ServeHTTP(w, r)
}

// sessionKey is the key of the session in the context of a request.
type sessionKey struct{}

// page returns the handler of a route.
func (s *site) page(f pageFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, _ := r.Context().Value(sessionKey{}).(*session)
		q := s.request(r, who)
		if r.Method == http.MethodPost {
			if err := parseForm(w, r); err != nil {
				s.fail(w, q, err)
				return
			}
		}
		v, err := f(r.Context(), q)
		switch {
		case err != nil:
			s.fail(w, q, err)
		case v.Redirect != "":
			s.flashes.put(who, v.Redirect, q.said)
			http.Redirect(w, r, v.Redirect, http.StatusSeeOther)
		default:
			s.show(w, q, v)
		}
	}
}

// show renders a view. A request for regions gets only these.
func (s *site) show(w http.ResponseWriter, q *request, v view) {
	regions := q.Header.Get(regionHeader)
	if regions == "" {
		q.flashed = s.flashes.take(q.who, q.RequestURI)
	}
	text, err := s.templates.render(q.frame(v), v.Template)
	if err != nil {
		s.fail(w, q, fault.Wrap(fault.Internal, "render "+v.Template, err))
		return
	}
	text = visible(text)
	if regions != "" {
		text = pick(text, regions)
	} else if part := pick(text, "*"); len(part) > 0 { // the browser asks for changes since this
		if before, after, has := bytes.Cut(text, []byte(`data-digest=""`)); has {
			text = slices.Concat(before, []byte(`data-digest="`+digest(part)+`"`), after)
		}
	}
	s.write(w, q.Request, cmp.Or(v.Status, http.StatusOK), text)
}

// fail renders an error in place of the page. After a form it keeps the typed texts.
func (s *site) fail(w http.ResponseWriter, q *request, err error) {
	p := q.failed(err)
	v := view{Template: "error.html", Title: p.Title, Data: p, Status: p.Status}
	text, failed := s.templates.render(q.frame(v), v.Template)
	if failed != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
		return
	}
	s.write(w, q.Request, p.Status, visible(text))
}

// write sends a page with its digest, or 304 if the client has it.
func (s *site) write(w http.ResponseWriter, r *http.Request, status int, text []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	tag := etag(text)
	h.Set("ETag", tag)
	h.Add("Vary", "Accept-Encoding")
	if status == http.StatusOK && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if len(text) > 1400 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		text = zipped(text)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = bytes.NewReader(text).WriteTo(w) // a failure means that the browser has gone
	}
}
