package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// hits writes hits as text, the exact ones with a mark.
func hits(f api.SearchHits) string {
	var out []string
	for _, h := range f.Items {
		text := h.Kind + " " + h.Label
		if h.Exact {
			text += "!"
		}
		out = append(out, text)
	}
	if f.More {
		out = append(out, "more")
	}
	return strings.Join(out, "; ")
}

// TestSearch pins what a search finds, in both homes.
func TestSearch(t *testing.T) {
	t.Parallel()
	w, customer, site := offices(t)
	x := exportOf(nulls(12))
	x.Origin = state.Origin{Author: "Ann", Message: "the first one", Commit: "abc123"}
	if _, err := w.service.Export(t.Context(), "default", x, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"site.domain", "n1"} {
		if _, err := w.service.SetParameter(t.Context(), "default", name, "acme"); err != nil {
			t.Fatal(err)
		}
	}
	const first = "std::Null[a,name=n1]"
	for _, c := range []struct {
		why, text string
		limit     int
		want      string
	}{
		{"an id", first, 0, "resource " + first + "!"},
		{"a part of ids, and the name of a parameter", "n1", 0, "parameter n1!; " +
			"resource std::Null[a,name=n10]; resource std::Null[a,name=n11]; resource " + first},
		{"no more than is wanted", "n1", 2,
			"parameter n1!; resource std::Null[a,name=n10]; resource std::Null[a,name=n11]; more"},
		{"an identity, in a value of no parameter", "acme", 0, "instance acme!"},
		{"with its service", "customer/acme", 0, "instance acme!"},
		{"the id of an instance", site, 0, "instance www1!"},
		{"the begin of one", customer[:13], 0, "instance acme"},
		{"a service, and a parameter", "site", 0, "service site!; parameter site.domain"},
		{"in another case", "SITE", 0, "service site; parameter site.domain"},
		{"an agent, and what is on it", "a", 1, "agent a!; resource std::Null[a,name=n0]; " +
			"instance acme; parameter site.domain; version Ann the first one; more"},
		{"a version", "#2", 0, "version Ann the first one!"},
		{"a commit", "abc123", 0, "version Ann the first one!"},
		{"words of a message", " First ONE ", 0, "version Ann the first one"},
		{"signs of patterns", "[a,name=n1]", 0, "resource " + first},
		{"no pattern", "nowhere/else", 0, ""},
		{"nothing", "zzz", 0, ""},
	} {
		for name, home := range map[string]api.Home{"service": w.service, "client": w.client(t)} {
			found, err := home.Search(t.Context(), "default", c.text, c.limit)
			if got := hits(found); err != nil || got != c.want {
				t.Errorf("%s, %s: %v\n%s", c.why, name, err, cmp.Diff(c.want, got))
			}
		}
	}
	for _, c := range []struct {
		env, text string
		want      fault.Kind
	}{
		{"default", "", fault.Usage}, {"default", " \t", fault.Usage},
		{"default", strings.Repeat("x", 501), fault.Usage}, {"nowhere", "x", fault.NotFound},
	} {
		for name, home := range map[string]api.Home{"service": w.service, "client": w.client(t)} {
			if _, err := home.Search(t.Context(), c.env, c.text, 0); !fault.Is(err, c.want) {
				t.Errorf("%s: %s: %v", name, fmt.Sprint(c), err)
			}
		}
	}
}
