//go:build servers

package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/internal/simtest/consoletest/chrome"
	"southbound/shared/service/definition"
)

// served returns a console over an embedded home, and a tab of Chromium that has signed in at url.
func served(t *testing.T, w *consoletest.World) (c *Console, x *chrome.Tab, url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	c = New(w.Service, Options{Version: "1.0", Where: "/data",
		Hosts: []string{s.Listener.Addr().String()}})
	s.Config.Handler = c
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	x = chrome.Start(t).Tab(t)
	x.Open(s.URL + c.Path(c.Code()))
	return c, x, s.URL
}

// examine checks a page at three widths, light and dark. show opens it.
func examine(x *chrome.Tab, name string, show func()) {
	for _, dark := range []bool{false, true} {
		x.Dark(dark)
		for _, width := range []int64{390, 820, 1366} {
			x.Size(width, 844)
			show()
			at := fmt.Sprintf("%s-%d-%s", name, width, map[bool]string{false: "light", true: "dark"}[dark])
			x.Fits(at)
			x.Axe(at)
			x.Shot(at)
		}
	}
}

// TestLinkedPages visits the pages of the table of routes and all that they link to, one of each
// kind. A new page is covered without a change of a test.
func TestLinkedPages(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	up, broken := w.FillServices(t, "testdata/forms.cf")
	c, x, url := served(t, w)
	x.Expect("status of 4") // pages that need a query say so
	const at = "/console/" + consoletest.Env
	queue := []string{at + "/services/site", at + "/services/site/new", at + "/services/site/instances",
		at + "/instances/" + broken.ID + "?tab=resources", at + "/instances/" + broken.ID + "?tab=diagnose",
		at + "/instances/" + up.ID, at + "/instances/" + up.ID + "/edit"}
	for _, row := range c.site.routes() {
		method, path, _ := strings.Cut(row.pattern, " ")
		path = strings.TrimSuffix(strings.ReplaceAll(path, "{env}", consoletest.Env), "{$}")
		if method == "GET" && row.page != nil && !strings.Contains(path, "{") {
			queue = append(queue, path)
		}
	}
	seen, kinds := map[string]bool{}, map[string]int{}
	for ; len(queue) > 0; queue = queue[1:] {
		target := queue[0]
		r := httptest.NewRequestWithContext(t.Context(), "GET", target, nil)
		_, kind := c.site.pages.Handler(r)
		if q := r.URL.Query(); kind == instancePattern {
			kind += " " + cmp.Or(q.Get("tab"), strings.Join(slices.Sorted(maps.Keys(q)), "-"))
		}
		if seen[target] || kind == "" || kinds[kind] >= 1 || strings.HasSuffix(kind, "/live") {
			continue
		}
		seen[target] = true
		x.Open(url + target)
		if x.Eval("document.querySelector('#problem') !== null") == "true" {
			continue
		}
		kinds[kind]++
		name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(kind, "-") + strconv.Itoa(kinds[kind])
		examine(x, "linked"+name, func() { x.Open(url + target) })
		queue = append(queue, strings.Fields(x.Eval(`[...document.querySelectorAll('a[href]:not([download])')]
			.map(a => new URL(a.href.baseVal ?? a.href, location)).filter(u => u.origin === location.origin)
			.map(u => u.pathname + u.search).join(' ')`))...)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%s: %d", kind, kinds[kind])
	}
}

// TestDocumentationInBrowser shows documentation with a diagram, and that texts of attacks run no
// script, neither in the page nor in frames of diagrams.
func TestDocumentationInBrowser(t *testing.T) {
	t.Parallel()
	c, x, url := served(t, consoletest.Open(t, handlers.All()))
	texts := map[string]any{}
	base := template.Must(template.New("base.html").ParseFS(templateFiles, "templates/base.html",
		"templates/parts*.html"))
	c.site.templates.pages["test.html"] = template.Must(base.Parse(
		`{{define "main"}}{{template "documentation" .Data}}{{end}}`))
	c.site.pages.HandleFunc("GET /console/{env}/documentation", c.site.page(
		func(_ context.Context, r *request) (view, error) {
			def := &definition.Service{}
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				def.Attributes = append(def.Attributes, written(name))
			}
			return view{Template: "test.html", Title: "Documentation",
				Data: c.site.documentation(r, def, texts, nil)}, nil
		}))
	show := func(all map[string]any) {
		texts = all
		x.Open(url + "/console/production/documentation")
		if c.site.hasDiagrams() {
			x.Until(`[...document.querySelectorAll('.diagram')].every(d => { d.closest('.doc').open = true;
				d.scrollIntoView(); return d.querySelector('iframe').height !== '40' ||
				!d.querySelector('[data-error]').hidden; })`)
		}
	}
	x.Before("window.hits = 0; window.canary = () => { window.hits++ }")
	lab := map[string]any{"overview": "# Lab\n\nA *short* text with a [link](https://example.org).\n\n" +
		"```mermaid\nflowchart LR\na[router-east] --- b[L2VPN: vpls-20000]\nb --- c[router-west]\n```\n\n" +
		"| port | vlan |\n|---|---|\n| ge-0/0/2 | 2000 |\n\n- [x] ordered\n- [ ] tested\n"}
	examine(x, "documentation", func() { show(lab) })

	// An image in a label of a diagram is refused by the policy of its frame, and that is reported.
	inFrame := []string{c.site.files.url(diagramPage), "/mermaid/"}
	x.Expect("Executing inline event handler", inFrame...)
	x.Expect("Loading the image", inFrame...)
	for i, text := range attacks() {
		show(map[string]any{"overview": text + "\n", "more": text})
		if hits := x.Eval("window.hits"); hits != "0" {
			t.Errorf("attack %d %q: %s scripts ran", i, text, hits)
		}
		if problems := x.Problems(); len(problems) > 0 {
			t.Errorf("attack %d %q: %q", i, text, problems)
		}
	}
}
