package console_test

import (
	"net/http"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
)

// TestVersionsCompare: the form of the list compares the version in force with another one.
func TestVersionsCompare(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	b := signedIn(t, console.New(w.Service, realTime()))
	form := formOf(t, b.Get("/console/production/versions", http.StatusOK), "from")
	if form.Get("from") != "2" || form.Get("to") != "1" {
		t.Errorf("it compares %v", form)
	}
}

// TestVersionFilter: the page of a version filters its resources as the list of resources does.
func TestVersionFilter(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	for name, home := range w.Homes(t) {
		b := signedIn(t, console.New(home, realTime()))
		for _, c := range []struct {
			query, none string
			want        []string
		}{
			{"", "", []string{"7 of 7", "app.conf", "schema"}},
			{"?agent=db1", "app.conf", []string{"2 of 2", "agent: db1", "schema", "users"}},
			{"?type=fs::File&q=APP", "motd", []string{"1 of 1", "type: fs::File", "words: APP", "app.conf"}},
			{"?set=none", "schema", []string{"No resource of this version matches", "set: none"}},
			{"?status=failed", "schema", []string{"resources of a version have no state", "status: failed"}},
		} {
			page := b.Get("/console/production/versions/1"+c.query, http.StatusOK)
			wants(t, page, c.want...)
			if text := consoletest.TextOf(page); c.none != "" && strings.Contains(text, c.none) {
				t.Errorf("%s: %q: the page has %q: %s", name, c.query, c.none, text)
			}
		}
	}
}
