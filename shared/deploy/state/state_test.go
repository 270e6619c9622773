package state

import (
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestGlob pins what * and ? match.
func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{{"*", "", true}, {"a*c", "abc", true}, {"a*c", "abd", false}, {"a?c", "abc", true},
		{"a?c", "ac", false}, {"*b*", "abc", true},
		{"fs::File[web*,*]", "fs::File[web1,path=/a/b]", true}, {"**", "x", true}, {"", "x", false},
		{"a?c", "aéc", true}, {"a??c", "aéc", false}, {"a*??c", "a€c", false},
		{"?*?", "€é", true}} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

// TestFilterTwice pins that all terms of a filter count: one that is there twice is not taken for
// the last.
func TestFilterTwice(t *testing.T) {
	t.Parallel()
	for _, terms := range [][]string{{"type=a::B", "type=a::C"},
		{"type=a::B", "agent=a", "type=a::C"}, {"deploying=true", "set=s", "deploying=false"}} {
		if f, err := ParseFilter(terms); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %+v, %v", terms, f, err)
		}
	}
}

// FuzzParseFilter: any words are a filter or an error, and what is a filter matches without
// trouble.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"", "type=fs::File", "status=failed", "status=odd",
		"fs::File[web1,path=/etc/*]", "set=", "a=b=c", "*?*", "agent=[x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, term string) {
		filter, err := ParseFilter([]string{term})
		if err != nil {
			return
		}
		row := Row{ID: resource.ID(term), Intent: Intent{Body: []byte("{}")}}
		filter.Match(&row)
		if filter.ID != "" && !filter.Match(&row) {
			t.Errorf("%q does not match itself", term)
		}
	})
}

// TestPlanKey pins that no agent has the key of the lease of planners.
func TestPlanKey(t *testing.T) {
	t.Parallel()
	if resource.ValidAgent(PlanKey) {
		t.Errorf("%q can name an agent", PlanKey)
	}
}
