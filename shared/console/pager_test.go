package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/resource"
)

// TestPreviousPage turns the pages of lists forth and back: each page back is the page that was there.
func TestPreviousPage(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	for n := range 55 {
		w.Create(t, "customer", map[string]any{"name": fmt.Sprintf("c_%03d", n), "contact": "a@b"})
	}
	w.Many(t, consoletest.Env, 120)
	b := signedIn(t, console.New(w.Service, options()))
	for list, want := range map[string]int{"resources?status=available": 3,
		"services/customer/instances?columns=contact": 2} {
		var pages, texts []string
		to := at + list
		for to != "" {
			page := b.Get(to, http.StatusOK)
			pages, texts = append(pages, to), append(texts, consoletest.TextOf(page[strings.Index(page, "<tbody"):]))
			to = linkOf(page, "next")
		}
		if len(pages) != want {
			t.Fatalf("%s has %d pages, expected %d", list, len(pages), want)
		}
		for n := len(pages) - 1; n > 0; n-- {
			page := b.Get(pages[n], http.StatusOK)
			back := linkOf(page, "prev")
			before := b.Get(back, http.StatusOK)
			if text := consoletest.TextOf(before[strings.Index(before, "<tbody"):]); text != texts[n-1] {
				t.Errorf("%s: the page before page %d, %s, has %s", list, n+1, back, text)
			}
			if u, err := url.Parse(back); err != nil || u.Query().Encode() != mustQuery(t, pages[n-1]) {
				t.Errorf("%s: back to %s, not %s", list, back, pages[n-1])
			}
		}
	}
}

func mustQuery(t *testing.T, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Encode()
}

// linkOf returns the address of the button with a relation; "": there is none.
func linkOf(page, rel string) string {
	_, rest, has := strings.Cut(page, `rel="`+rel+`" href="`)
	if !has {
		return ""
	}
	to, _, _ := strings.Cut(rest, `"`)
	return strings.ReplaceAll(to, "&amp;", "&")
}

// TestParameterUses names the forms and the resources that use a parameter.
func TestParameterUses(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Offer(t, "testdata/forms.cf")
	file := w.File("motd", "")
	file.Attributes["content"] = resource.Parameter{Name: "greeting"}
	w.Export(t, consoletest.Env, file, consoletest.Null("web1", "other"))
	for _, name := range []string{"greeting", "topology_files", "unused"} {
		if _, err := w.Service.SetParameter(t.Context(), consoletest.Env, name, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for name, home := range w.Homes(t) {
		b := signedIn(t, console.New(home, options()))
		wants(t, b.Get(at+"parameter?name=topology_files", 200), "Forms of site suggest its values", "Find the resources")
		page := b.Get(at+"parameter?name=greeting&uses=1", 200)
		wants(t, page, "Used by", "/motd content")
		if text := consoletest.TextOf(page); strings.Contains(text, "other") {
			t.Errorf("%s: %s", name, text)
		}
		wants(t, b.Get(at+"parameter?name=unused&uses=1", 200), "No resource of the version in force refers to it")
	}
}
