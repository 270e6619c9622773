package output

import (
	"bytes"
	"strings"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestCut pins that a line of progress fits, also where characters are twice as wide: one that
// wraps is not written over.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line    string
		columns int
		want    string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"Grüße", 4, "Grüß"}, {"世界", 4, "世界"},
		{"a世界", 4, "a世"}, {"世", 1, ""}, {"Ａb", 2, "Ａ"}, {"abc", 0, ""}, {"abc", -1, ""},
		{"", 3, ""}} {
		if got := Cut(c.line, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.columns, got, c.want)
		}
	}
}

// TestFitted pins that a line of a list takes one line of a terminal, shows when it was cut, and is
// whole elsewhere.
func TestFitted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line    string
		columns int
		want    string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 0, "abcd"}, {"世界", 4, "世界"},
		{"世界a", 4, "世…"}} {
		if got := Fitted(c.line, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.columns, got, c.want)
		}
	}
}

// TestHarmless pins that what others have named or said does nothing to a terminal, and that an id
// stays on its line.
func TestHarmless(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &Console{Out: &out, Err: &out}
	for _, c := range []struct {
		reason string
		arg    any
		want   string
	}{
		{"text is shown as it is", "Grüße, 世界: 100% 😀", "Grüße, 世界: 100% 😀"},
		{"a line break in a text stays", "a\n\tb", "a\n\tb"},
		{"a line break in an id does not", resource.ID("std::Null[a,name=x\ny]"),
			`std::Null[a,name=x\ny]`},
		{"what clears the screen", "\x1b[2J\r\a", `\x1b[2J\r\a`},
		{"the same in one character", "\u009b2J\x7f", `\u009b2J\x7f`},
		{"what turns the text round", "a\u202eb", `a\u202eb`},
		{"bytes that are not text", "a\x9b2J", "a\uFFFD2J"},
		{"a status of ours", a.Paint(state.StatusFailed, 0), "failed"},
	} {
		for _, write := range []func(string, ...any){a.Printf, a.Complain} {
			out.Reset()
			if write("%s", c.arg); strings.TrimSuffix(out.String(), "\n") != c.want {
				t.Errorf("%s: %q, want %q", c.reason, &out, c.want)
			}
		}
	}
}
