package console_test

import (
	"errors"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
)

// TestGraph walks through graphs in both homes: folded, unfolded, and of one resource.
func TestGraph(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	for name, home := range w.Homes(t) {
		b := signedIn(t, console.New(home, options()))
		folded := b.Get("/console/production/graph", 200)
		has(t, folded, "7 resources", "web1 · std::Null", "web1 · fs::File", "db1 · std::Null",
			"The same as a table", "<svg class=\"drawing\"", ">3</text>", "failed")
		m := regexp.MustCompile(`href="([^"]*open=std[^"]*web1[^"]*)"`).FindStringSubmatch(folded)
		if m == nil {
			t.Fatalf("%s: no box to unfold in %s", name, folded)
		}
		open := b.Get(html.UnescapeString(m[1]), 200)
		has(t, open, ">broken</text>", ">after</text>", "unfolded: std::Null[web1]",
			"std::Null[web1,name=after] requires std::Null[web1,name=broken]")
		if strings.Index(open, ">broken</text>") > 0 && strings.Count(open, `class="line"`) != 2 {
			t.Errorf("%s: not two lines in %s", name, open)
		}
		one := b.Get("/console/production/graph?id="+url.QueryEscape("std::Null[web1,name=last]"), 200)
		has(t, one, ">broken</text>", ">last</text>", `class="box current`,
			"Graph of the environment")
		none := b.Get("/console/production/graph?id="+url.QueryEscape("std::Null[web1,name=none]"), 404)
		has(t, none, "Not found")
	}
	b := signedIn(t, console.New(consoletest.FailingAt(w.Service, "Graph", errors.New("broken pipe")),
		options()))
	b.Get("/console/production/graph", 500)
}

// TestGraphBounds pins that a page of many boxes, and a URL that unfolds many, stay bounded.
func TestGraphBounds(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Many(t, "many", 3000)
	b := signedIn(t, console.New(w.Service, options()))
	target := "/console/many/graph?x=" + strings.Repeat("&open=x", 500)
	for i := range 10 {
		target += "&open=" + url.QueryEscape("std::Null[node"+string(rune('0'+i))+"]")
	}
	for _, target := range []string{target, strings.Replace(target, strings.Repeat("&open=x", 500), "", 1)} {
		if page := b.Get(target, 200); len(page) > 300_000 {
			t.Errorf("%d bytes", len(page))
		}
	}
}

// has fails if a page does not contain all texts.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("%q is missing in %s", text, page)
		}
	}
}
