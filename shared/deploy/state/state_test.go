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

func TestValidLane(t *testing.T) {
	t.Parallel()
	for lane, want := range map[string]bool{"a/0": true, "a/b/12": true, "../x/0": true,
		"ü ö/3": true, "": false, "a": false, "/0": false, "a/": false, "a/x": false, "a/-1": false,
		"a/01": false, "a/70000": false, "a\n/0": false} {
		if got := ValidLane(lane); got != want {
			t.Errorf("ValidLane(%q) is %v", lane, got)
		}
	}
}
