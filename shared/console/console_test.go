package console_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
)

const token = "the-token-of-the-api"

// clock is a clock that the test sets.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// newClock returns a clock that stands.
func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 5, 4, 10, 41, 7, 0, time.UTC).UnixNano())
	return c
}

func options() console.Options {
	return console.Options{Version: "1.0", Where: "/data", Hosts: []string{consoletest.Host},
		Token: token, Now: newClock().now}
}

// signedIn returns a browser that has signed in with a code.
func signedIn(t *testing.T, c *console.Console) *consoletest.Browser {
	t.Helper()
	b := consoletest.NewBrowser(t, c)
	if res := b.Do(http.MethodGet, c.Path(c.Code()), ""); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign-in: %d", res.StatusCode)
	}
	return b
}

// wants fails if a page does not contain all texts.
func wants(t *testing.T, page string, texts ...string) {
	t.Helper()
	text := consoletest.TextOf(page)
	for _, want := range texts {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
}

// TestFrame walks the pages of the frame in both homes, under two base paths.
func TestFrame(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	w.Export(t, "staging", consoletest.Null("a", "n"))
	for name, home := range w.Homes(t) {
		for _, base := range []string{"", "/ops/southbound", "/"} {
			o := options()
			o.Base = base
			c := console.New(home, o)
			b := signedIn(t, c)
			page := b.Get(c.Path(""), http.StatusOK)
			wants(t, page, "Environments", "production", "staging", "version 2", "failed 1",
				"skipped 2", "Sign out", "Times in")
			wants(t, b.Get(c.Path("")+"about", http.StatusOK), "southbound 1.0", "/data", "Keys")
			wants(t, b.Get(c.Path("")+"nowhere/at/all", http.StatusNotFound),
				"There is no page at this address")
			if name == "service" && base == "" && len(page) > 20_000 {
				t.Errorf("the page has %d bytes", len(page))
			}
		}
	}
}

// TestFrameFaults shows errors of the home in place, with cause and cure.
func TestFrameFaults(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	gone := fault.New(fault.Unavailable, "", "the server does not answer").
		WithHint("start it with southbound run --listen")
	for _, c := range []struct {
		why    string
		method string
		err    error
		status int
		want   []string
	}{
		{"the home is gone: why, what to do, and again", "Summaries", gone, 503,
			[]string{"The home does not answer", "The server does not answer.",
				"Start it with southbound run --listen.", "Try again"}},
		{"no permission", "Summaries", fault.New(fault.Denied, "", "no"), 403,
			[]string{"Not permitted"}},
	} {
		site := console.New(consoletest.FailingAt(w.Service, c.method, c.err), options())
		wants(t, signedIn(t, site).Get("/console/", c.status), c.want...)
	}
	empty := consoletest.Open(t, handlers.All())
	wants(t, signedIn(t, console.New(empty.Service, options())).Get("/console/", 200),
		"There is no environment yet", "southbound apply PATH")
}

// TestHeaders pins the headers of pages, files, refusals and redirects.
func TestHeaders(t *testing.T) {
	t.Parallel()
	c := console.New(consoletest.Open(t, handlers.All()).Service, options())
	b := signedIn(t, c)
	page := b.Get("/console/", 200)
	for _, target := range []string{"/console/", "/console/signin", "/console/none", "/elsewhere",
		"/console/enter?code=x"} {
		h := b.Do(http.MethodGet, target, "").Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
				"img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; " +
				"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
				"trusted-types southbound",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", target, name, got)
			}
		}
	}
	at := strings.Index(page, "/console/assets/")
	css := page[at:][:strings.IndexByte(page[at:], '"')]
	stranger := consoletest.NewBrowser(t, c) // has not signed in
	res := stranger.Do(http.MethodGet, css, "", "Sec-Fetch-Site", "cross-site")
	if got := res.Header.Get("Cache-Control"); res.StatusCode != 200 ||
		got != "public, max-age=31536000, immutable" ||
		res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%s: %d, %v", css, res.StatusCode, res.Header)
	}
}

// TestAdmission is the table of requests that are refused or admitted.
func TestAdmission(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	other := console.New(w.Service, options())
	stolen := signedIn(t, other).CookiesSet[0]
	c := console.New(w.Service, options())
	for _, x := range []struct {
		why, method, target, body string
		headers                   []string
		anonymous                 bool
		status                    int
		want                      string
	}{
		{"another Host: DNS rebinding", "GET", "/console/", "",
			[]string{"Host", "evil.example:8300"}, false, 403, "Host"},
		{"a POST from another site", "POST", "/console/signout", "",
			[]string{"Sec-Fetch-Site", "cross-site"}, false, 403, "another site"},
		{"a POST with another Origin, of an old browser", "POST", "/console/signout", "",
			[]string{"Sec-Fetch-Site", "", "Origin", "http://evil.example"}, false, 403,
			"another site"},
		{"a region for another site", "GET", "/console/", "",
			[]string{"Sec-Fetch-Site", "cross-site", "X-Region", "*"}, false, 403, "parts"},
		{"a stream for a page of the same site, on another port", "GET", "/console/e/live", "",
			[]string{"Sec-Fetch-Site", "same-site", "Accept", "text/event-stream"}, false, 403,
			"parts"},
		{"a link from elsewhere: one reload", "GET", "/console/", "",
			[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, true, 200,
			`http-equiv="refresh"`},
		{"no cookie: to the sign-in page", "GET", "/console/?x=1", "", nil, true, 303, ""},
		{"no cookie: no region", "GET", "/console/", "", []string{"X-Region", "*"}, true, 401,
			"signed out"},
		{"no cookie: no change", "POST", "/console/e/do/halt", "", nil, true, 401, "signed out"},
		{"the cookie of another server", "GET", "/console/", "",
			[]string{"Cookie", stolen.Name + "=" + stolen.Value}, true, 303, ""},
		{"a method that pages do not use", "DELETE", "/console/", "", nil, false, 405, "use GET"},
		{"a body beyond 4 MB", "POST", "/console/signin", "token=" + strings.Repeat("x", 4<<20), nil,
			true, 413, "more than 4 MB"},
		{"a wrong token", "POST", "/console/signin", "token=x", nil, true, 403, "not a token"},
		{"the token", "POST", "/console/signin", "token=" + token, nil, true, 303, ""},
		{"a code that never was", "GET", "/console/enter?code=x", "", nil, true, 403, "used before"},
		{"no code at all", "GET", "/console/enter", "", nil, true, 403, "used before"},
		{"a code by HEAD is not used up", "HEAD", "/console/enter?code=x", "", nil, true, 405, ""},
		{"sign out by GET", "GET", "/console/signout", "", nil, false, 405, ""},
		{"a code for nobody", "POST", "/console/codes", "", nil, false, 401, "token"},
		{"a code for a wrong token", "POST", "/console/codes", "",
			[]string{"Authorization", "Bearer x"}, true, 401, "token"},
	} {
		b := consoletest.NewBrowser(t, c)
		if !x.anonymous {
			b = signedIn(t, c)
		}
		res := b.Do(x.method, x.target, x.body, x.headers...)
		if text := consoletest.Body(t, res); res.StatusCode != x.status ||
			!strings.Contains(text, x.want) {
			t.Errorf("%s: %d, want %d with %q: %s", x.why, res.StatusCode, x.status, x.want, text)
		}
	}
}

// TestCodes pins that a code signs in once, within 60 seconds, and how a program gets one.
func TestCodes(t *testing.T) {
	t.Parallel()
	now := newClock()
	o := options()
	o.Now = now.now
	c := console.New(consoletest.Open(t, handlers.All()).Service, o)
	first, second := c.Code(), c.Code()
	if len(first) < 22 || first == second { // 128 bits in base 64
		t.Errorf("codes %q and %q", first, second)
	}
	enter := func(code string) int {
		return consoletest.NewBrowser(t, c).Do(http.MethodGet, c.Path(code), "").StatusCode
	}
	now.advance(59 * time.Second)
	if got := enter(first); got != http.StatusSeeOther {
		t.Errorf("after 59 s: %d", got)
	}
	if got := enter(first); got != http.StatusForbidden {
		t.Errorf("a replayed code: %d", got)
	}
	now.advance(time.Second)
	if got := enter(second); got != http.StatusForbidden {
		t.Errorf("after 60 s: %d", got)
	}
	res := consoletest.NewBrowser(t, c).Do(http.MethodPost, "/console/codes", "", "Authorization",
		"Bearer "+token)
	var answer struct{ Code, Path string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != 200 ||
		answer.Path != c.Path(answer.Code) || enter(answer.Code) != http.StatusSeeOther {
		t.Errorf("%d %+v %v", res.StatusCode, answer, err)
	}
}

// TestSessions pins the attributes of the cookie, that it ends after 12 hours and at sign-out, and
// that its name is one of this server alone.
func TestSessions(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	now := newClock()
	o := options()
	o.Now = now.now
	c := console.New(w.Service, o)
	b := signedIn(t, c)
	got := b.CookiesSet[0]
	if !got.HttpOnly || got.SameSite != http.SameSiteStrictMode || got.Path != "/console/" ||
		got.MaxAge != 12*60*60 || got.Secure || len(got.Value) < 43 {
		t.Errorf("cookie %+v", got)
	}
	if other := signedIn(t, console.New(w.Service, o)).CookiesSet[0]; other.Name == got.Name {
		t.Error("two servers on one host would overwrite each other's cookie")
	}
	tls := consoletest.NewBrowser(t, c)
	tls.Do(http.MethodGet, c.Path(c.Code()), "", "X-Forwarded-Proto", "https")
	if !tls.CookiesSet[0].Secure {
		t.Error("the cookie of a site with TLS is not Secure")
	}
	now.advance(12*time.Hour - time.Second)
	b.Get("/console/about", 200)
	wants(t, b.Post("/console/signout", nil, 200), "Sign in")
	res := b.Do(http.MethodGet, "/console/about", "", "Cookie", got.Name+"="+got.Value)
	if res.StatusCode != http.StatusSeeOther {
		t.Errorf("a stolen cookie after sign-out: %d", res.StatusCode)
	}
	b = signedIn(t, c)
	now.advance(12 * time.Hour)
	if res := b.Do(http.MethodGet, "/console/about", ""); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a cookie after 12 h: %d", res.StatusCode)
	}
}

// TestSignIn goes back to the page that was asked for, and to no other site.
func TestSignIn(t *testing.T) {
	t.Parallel()
	c := console.New(consoletest.Open(t, handlers.All()).Service, options())
	for back, want := range map[string]string{
		"/console/about":        "/console/about",
		"https://evil.example/": "/console/", "//evil.example/": "/console/",
		"/console/\\evil": "/console/", "/other": "/console/", "": "/console/",
	} {
		b := consoletest.NewBrowser(t, c)
		form := url.Values{"token": {" " + token + "\n"}, "back": {back}}
		res := b.Do(http.MethodPost, "/console/signin", form.Encode())
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("back to %q: %q", back, got)
		}
	}
	b := consoletest.NewBrowser(t, c)
	page := b.Get("/console/about?tz=UTC", 200)
	if !strings.Contains(page, `name="back" value="/console/about?tz=UTC"`) {
		t.Errorf("the sign-in page forgets the page: %s", page)
	}
	if strings.Contains(page, token) {
		t.Error("the token is in the page")
	}
}

// TestReadOnly refuses all changes, by option and by role, and says so.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	o := options()
	o.ReadOnly = true
	b := signedIn(t, console.New(w.Service, o))
	wants(t, b.Get("/console/about", 200), "read-only")
	wants(t, b.Post("/console/e/do/halt", nil, 403), "This console is read-only")
	b.Post("/console/signout", nil, 200)
	o.ReadOnly, o.ReadToken = false, "the-token-of-readers"
	b = consoletest.NewBrowser(t, console.New(w.Service, o))
	b.Post("/console/signin", url.Values{"token": {"the-token-of-readers"}}, 200)
	wants(t, b.Get("/console/about", 200), "read-only")
	wants(t, b.Post("/console/e/do/halt", nil, 403), "This console is read-only")
}

// TestProxy pins whose headers name a user.
func TestProxy(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	proxy := console.Proxy{UserHeader: "X-User", RoleHeader: "X-Roles",
		Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}} // that of httptest
	elsewhere := proxy
	elsewhere.Networks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	socket := elsewhere
	socket.Unix = true
	for _, c := range []struct {
		why     string
		proxy   *console.Proxy
		headers []string
		status  int
		want    []string
	}{
		{"an operator", &proxy, []string{"X-User", "ada", "X-Roles", "reader, operator"}, 200,
			[]string{"ada", "permitted"}},
		{"a reader", &proxy, []string{"X-User", "ada", "X-Roles", "reader"}, 200,
			[]string{"ada", "read-only"}},
		{"no role", &proxy, []string{"X-User", "ada"}, 200, []string{"read-only"}},
		{"no user", &proxy, []string{"X-Roles", "operator"}, 303, nil},
		{"headers of another machine", &elsewhere, []string{"X-User", "ada"}, 303, nil},
		{"a socket", &socket, []string{"X-User", "ada", "X-Roles", "operator"}, 200,
			[]string{"ada"}},
		{"no proxy", nil, []string{"X-User", "ada"}, 303, nil},
	} {
		o := options()
		o.Proxy = c.proxy
		b := consoletest.NewBrowser(t, console.New(w.Service, o))
		res := b.Do(http.MethodGet, "/console/about", "", c.headers...)
		page := consoletest.Body(t, res)
		if res.StatusCode != c.status {
			t.Errorf("%s: %d", c.why, res.StatusCode)
			continue
		}
		wants(t, page, c.want...)
	}
}

// TestRegions answers only the moving parts of a page, and 304 if they are the same.
func TestRegions(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	w.Export(t, "staging", consoletest.Null("a", "n"))
	b := signedIn(t, console.New(w.Service, options()))
	for regions, want := range map[string]bool{"*": true, "environments": true,
		"x environments": true, "x": false} {
		res := b.Do(http.MethodGet, "/console/", "", "X-Region", regions)
		text := consoletest.Body(t, res)
		consoletest.CheckHTML(t, regions, text)
		if strings.HasPrefix(text, "<div class=\"scroll\" data-live id=\"environments\"") != want ||
			strings.Contains(text, "<h1") {
			t.Errorf("regions %q: %s", regions, text)
		}
		again := b.Do(http.MethodGet, "/console/", "", "X-Region", regions, "If-None-Match",
			res.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("regions %q again: %d", regions, again.StatusCode)
		}
	}
}

// TestCompression sends long pages compressed to browsers that accept it.
func TestCompression(t *testing.T) {
	t.Parallel()
	b := signedIn(t, console.New(consoletest.Open(t, handlers.All()).Service, options()))
	res := b.Do(http.MethodGet, "/console/about", "", "Accept-Encoding", "gzip")
	text := consoletest.Body(t, res)
	if res.Header.Get("Content-Encoding") != "gzip" || strings.Contains(text, "<html") ||
		!slices.Contains(res.Header.Values("Vary"), "Accept-Encoding") {
		t.Errorf("%v", res.Header)
	}
}
