//go:build servers

package console_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/internal/simtest/consoletest/chrome"
)

// pagesOf are the pages that TestEveryPage visits, by name: paths below the console.
func pagesOf() map[string]string {
	env := consoletest.Env + "/"
	return map[string]string{
		"environments": "?all=1",
		"about":        "about",
		"missing":      env + "nowhere",
	}
}

// port is a console on a port of this machine, which can be stopped and started again.
type port struct {
	t       *testing.T
	home    api.Home
	address string
	server  *httptest.Server
	pages   *console.Console
}

func listen(t *testing.T, home api.Home) *port {
	t.Helper()
	p := &port{t: t, home: home, address: "127.0.0.1:0"}
	s := httptest.NewUnstartedServer(nil)
	p.address = s.Listener.Addr().String()
	p.pages = console.New(home, console.Options{Hosts: []string{p.address}})
	s.Config.Handler = p.pages
	s.Start()
	p.server = s
	t.Cleanup(func() { p.stop() })
	return p
}

func (p *port) url(path string) string { return "http://" + p.address + "/console/" + path }

// enter signs a tab in.
func (p *port) enter(x *chrome.Tab) {
	p.t.Helper()
	x.Open("http://" + p.address + p.pages.Path(p.pages.Code()))
}

func (p *port) stop() {
	if p.server == nil {
		return
	}
	p.server.CloseClientConnections()
	p.server.Close()
	p.server = nil
}

// start serves the same console again.
func (p *port) start() {
	p.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(p.t.Context(), "tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: p.pages}}
	p.server.Start()
}

// TestEveryPage visits every page at three widths, light and dark: axe-core finds nothing, the
// browser reports nothing, and nothing scrolls to the side.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	p := listen(t, w.Service)
	x := chrome.Start(t).Tab(t)
	x.Expect("status of 404") // of missing pages
	p.enter(x)
	for name, path := range pagesOf() {
		for _, dark := range []bool{false, true} {
			x.Dark(dark)
			for _, width := range []int64{390, 820, 1366} {
				x.Size(width, 844)
				x.Open(p.url(path))
				if (x.Eval("document.querySelector('h1').innerText") == "Not found") != (name == "missing") {
					t.Fatalf("%s: %s", name, x.Text())
				}
				at := fmt.Sprintf("%s-%d-%s", name, width, map[bool]string{false: "light", true: "dark"}[dark])
				x.Fits(at)
				x.Axe(at)
				x.Shot(at)
			}
		}
		x.Size(320, 844)
		x.Open(p.url(path))
		x.Fits(name + "-320")
	}
}

// foreign finds elements and addresses that only an attack can have made.
const foreign = `[...document.querySelectorAll("script:not([src]), style, base, object, embed, iframe[srcdoc], " +
	"meta[http-equiv], a[href^='javascript' i], a[href^='data' i], a[href^='vbscript' i], [src*=evil], [href*='//evil'], " +
	"[action*=evil], [onerror], [onload], [onfocus], [ontoggle]")].map(e => e.outerHTML.slice(0, 200)).join("\n")`

// TestHostile visits pages whose texts are attacks: no script runs, no element is made, the browser
// reports no violation of the policy, and marks of text direction are shown.
func TestHostile(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.FillHostile(t)
	instance, order := w.FillHostileServices(t, "testdata/forms.cf")
	p := listen(t, w.Service)
	x := chrome.Start(t).Tab(t)
	x.Expect("status of 404") // of missing pages
	x.Before("window.hits = 0; window." + consoletest.Canary + " = () => { window.hits++ }")
	p.enter(x)
	paths := pagesOf()
	if n := len(consoletest.Attacks()); n < 60 {
		t.Errorf("%d attacks", n)
	}
	for i, text := range consoletest.Attacks() {
		id := string(consoletest.Null("web1", fmt.Sprintf("%d %s", i, text)).ID)
		paths[fmt.Sprint("resource ", i)] = consoletest.Env + "/resource?id=" + url.QueryEscape(id)
		paths[fmt.Sprint("search ", i)] = consoletest.Env + "/search?q=" + url.QueryEscape(text)
	}
	hostile := []string{"", "resources", "resources?q=script", "actions", "agents/web1", "versions", "versions/1",
		"parameters", "parameter?name=a40", "parameter/delete?name=a40", "audit", "services", "orders",
		"orders/" + order, "services/" + consoletest.HostileService,
		"services/" + consoletest.HostileService + "/new",
		"services/" + consoletest.HostileService + "/instances?columns=a01&columns=a02",
		"instances/" + instance.ID + "/edit", "instances/" + instance.ID + "/delete", "instances/" + instance.ID + "/force",
		"instances/" + instance.ID, "instances/" + instance.ID + "?tab=attributes", "instances/" + instance.ID + "?tab=history",
		"instances/" + instance.ID + "?tab=diagnose", "instances/" + instance.ID + "?tab=json",
		"instances/" + instance.ID + "?tab=attributes&a=1&b=2"}
	for _, path := range hostile {
		paths[path] = consoletest.Env + "/" + path
	}
	for name, path := range paths {
		x.Open(p.url(path))
		if slices.Contains(hostile, name) && x.Eval("!document.querySelector('#problem') && "+
			"document.documentElement.innerHTML.includes('"+consoletest.Canary+"')") != "true" {
			t.Errorf("%s: the page shows no attack: %s", name, x.Text())
		}
		if got := x.Eval("window.hits"); got != "0" {
			t.Errorf("%s: %s scripts of attacks ran", name, got)
		}
		if got := x.Eval(foreign); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		if text := x.Text(); strings.ContainsAny(text, "\u202e\u2066\u200f\x1b\x07") {
			t.Errorf("%s: the page has hidden characters", name)
		}
	}
}

// TestLiveInBrowser shows a change in every one of 12 tabs, of which four have streams; a restart of
// the server is noticed and survived, and what is half typed and has the focus stays.
func TestLiveInBrowser(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Export(t, "one", consoletest.Null("a", "n"))
	w.Export(t, "two", consoletest.Null("a", "n"))
	p := listen(t, w.Service)
	b := chrome.Start(t)
	tabs := make([]*chrome.Tab, 12)
	for i := range tabs {
		tabs[i] = b.Tab(t)
		tabs[i].Expect("ERR_CONNECTION")
		tabs[i].Expect("ERR_EMPTY_RESPONSE")
		tabs[i].Expect("ERR_INCOMPLETE_CHUNKED")
		if i == 0 {
			p.enter(tabs[0])
		}
		tabs[i].Open(p.url(""))
	}
	state := func(x *chrome.Tab) string { return x.Eval(`document.querySelector("#live").dataset.state`) }
	states := map[string]int{}
	for _, x := range tabs {
		x.Until(`["live", "poll", "paused"].includes(document.querySelector("#live").dataset.state)`)
		states[state(x)]++
	}
	if states["live"] > 4 || states["live"] == 0 {
		t.Errorf("states of 12 tabs: %v", states)
	}
	last := tabs[len(tabs)-1]
	last.Front()
	last.Until(`document.querySelector("#live").dataset.state !== "paused"`)
	last.Eval(`(() => {
		const form = document.createElement("form"), input = document.createElement("input");
		form.id = "kept"; input.id = "typed"; form.append(input);
		document.querySelector("#env-one th").append(form);
		input.focus();
		window.same = document.querySelector("#env-two");
	})()`)
	last.Type("half")
	if err := w.Service.Halt(t.Context(), "one", true); err != nil {
		t.Fatal(err)
	}
	last.Until(`document.querySelector("#env-one").innerText.includes("halted")`)
	if got := last.Eval(`[document.querySelector("#typed")?.value, document.activeElement.id,
		window.same === document.querySelector("#env-two")].join()`); got != "half,typed,true" {
		t.Errorf("after a change of its region: %s", got)
	}
	p.stop()
	last.Until(`document.querySelector("#live").innerText.startsWith("Not connected since ")`)
	if err := w.Service.Halt(t.Context(), "two", true); err != nil {
		t.Fatal(err)
	}
	p.start()
	for _, x := range tabs {
		x.Front()
		x.Until(`document.querySelector("#env-two").innerText.includes("halted") &&
			["live", "poll"].includes(document.querySelector("#live").dataset.state)`)
	}
}

// TestKeys moves along rows and to the page of keys, and shows a page of help.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Export(t, "one", consoletest.Null("a", "n"))
	w.Export(t, "two", consoletest.Null("a", "n"))
	p := listen(t, w.Service)
	x := chrome.Start(t).Tab(t)
	p.enter(x)
	x.Open(p.url("?all=1"))
	row := func() string { return x.Eval(`document.activeElement.closest("tr")?.id || ""`) }
	for _, c := range []struct{ key, want string }{{"j", "env-one"}, {"j", "env-two"}, {"j", "env-two"},
		{"k", "env-one"}, {chrome.Escape, ""}} {
		x.Type(c.key)
		if got := row(); got != c.want {
			t.Errorf("key %q: the focus is in %q, want %q", c.key, got, c.want)
		}
	}
	x.Type("?")
	// the path changes before the page has its text
	x.Until(`location.pathname.endsWith("/about") && document.body?.innerText.includes("next row")`)
}
