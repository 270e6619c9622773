package diffview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"southbound/shared/diff"
	"southbound/shared/resource"
)

const (
	before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
	after  = "one\ntwo\nthree\n4\nfive\nsix\nseven\n"
)

func list(n int) []any {
	var out []any
	for i := range n {
		out = append(out, fmt.Sprintf("item number %d", i))
	}
	return out
}

func TestChange(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		d    diff.Diff
		s    Style
		want string
	}{
		"Short": {
			diff.Diff{Current: "0644", Desired: "0600"}, Style{},
			"a: \"0644\" -> \"0600\"\n",
		},
		"Indent": {
			diff.Diff{Current: int64(1), Desired: int64(2)}, Style{Indent: "    "},
			"    a: 1 -> 2\n",
		},
		"New":  {diff.Diff{Desired: true}, Style{}, "a: true\n"},
		"Gone": {diff.Diff{Current: "x"}, Style{}, "a: \"x\" -> nothing\n"},
		"Text": {
			diff.Diff{Current: before, Desired: after}, Style{},
			"a:\n" +
				"  @@ -1,7 +1,7 @@\n" +
				"   one\n" +
				"   two\n" +
				"   three\n" +
				"  -four\n" +
				"  +4\n" +
				"   five\n" +
				"   six\n" +
				"   seven\n",
		},
		"NoLastBreak": {
			diff.Diff{Current: "a\nb\n", Desired: "a\nb"}, Style{},
			"a:\n" +
				"  @@ -1,2 +1,2 @@\n" +
				"   a\n" +
				"  -b\n" +
				"  +b\n" +
				"  \\ No newline at end of file\n",
		},
		"OneLine": {
			diff.Diff{Current: "a\n", Desired: "b\n"}, Style{},
			"a: \"a\\n\" -> \"b\\n\"\n",
		},
		"Given": {
			diff.Diff{Current: resource.File{Hash: "a"},
				Desired: resource.File{Hash: "b"},
				Unified: "@@ -1 +1 @@\n-x\n+y\n"}, Style{},
			"a:\n" +
				"  @@ -1 +1 @@\n" +
				"  -x\n" +
				"  +y\n",
		},
		"Colour": {
			diff.Diff{Unified: "@@ -1 +1 @@\n-x\n+y\n z\n"}, Style{Color: true},
			"a:\n  \x1b[36m@@ -1 +1 @@\x1b[0m\n  \x1b[31m-x\x1b[0m\n  \x1b[32m+y\x1b[0m\n   z\n",
		},
		"LongLine": {
			diff.Diff{Current: long, Desired: long + "y"}, Style{},
			"a:\n  -\"" + long[:78] + "…\n  +\"" + long[:78] + "…\n",
		},
		"LongLineWhole": {
			diff.Diff{Current: long, Desired: long + "y"}, Style{Whole: true},
			"a:\n  -\"" + long + "\"\n  +\"" + long + "y\"\n",
		},
		"NewText": {diff.Diff{Desired: "a\nb\n"}, Style{}, "a: \"a\\nb\\n\"\n"},
		"NewTextWhole": {
			diff.Diff{Desired: "a\nb\n"}, Style{Whole: true},
			"a:\n" +
				"  @@ -0,0 +1,2 @@\n" +
				"  +a\n" +
				"  +b\n",
		},
		"GoneTextWhole": {
			diff.Diff{Current: "a\nb\n"}, Style{Whole: true},
			"a:\n" +
				"  @@ -1,2 +0,0 @@\n" +
				"  -a\n" +
				"  -b\n",
		},
		"SmallList": {
			diff.Diff{Current: list(1), Desired: list(2)}, Style{},
			"a: [\"item number 0\"] -> [\"item number 0\",\"item number 1\"]\n",
		},
		"LongList": {diff.Diff{Current: list(8), Desired: list(9)}, Style{},
			"a:\n  @@ -6,5 +6,6 @@\n     \"item number 4\",\n     \"item number 5\",\n" +
				"     \"item number 6\",\n  -  \"item number 7\"\n  +  \"item number 7\",\n" +
				"  +  \"item number 8\"\n   ]\n"},
		"File": {
			diff.Diff{Current: resource.File{Hash: "0123456789abcdef", Size: 1},
				Desired: map[string]any{"file": "fedcba9876543210", "size": json.Number("20")}},
			Style{},

			"a: 1 byte, SHA-256 0123456789ab -> 20 bytes, SHA-256 fedcba987654\n"},
		"Secret": {
			diff.Diff{Current: diff.Redacted, Desired: diff.Redacted}, Style{},
			"a: changed (secret)\n",
		},
		"SecretSet": {diff.Diff{Desired: diff.Redacted}, Style{}, "a: set (secret)\n"},
		"SecretRemoved": {
			diff.Diff{Current: diff.Redacted}, Style{Whole: true},
			"a: removed (secret)\n",
		},
		"Harmless": {
			diff.Diff{Current: "a\n\x1b[2J\n", Desired: "a\n\x9b\r\n\tx\n"}, Style{},
			"a:\n" +
				"  @@ -1,2 +1,3 @@\n" +
				"   a\n" +
				"  -\\x1b[2J\n" +
				"  +\uFFFD\\r\n" +
				"  +\tx\n",
		},
	} {
		if got := c.s.Change("a", c.d); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", name, got, c.want)
		}
	}
	if got := (Style{}).Change("a\x1b\n", diff.Diff{Desired: true}); got != "a\\x1b\\n: true\n" {
		t.Errorf("a name that is not harmless: %q", got)
	}
}

// TestChanges pins the order, and that nothing makes nothing.
func TestChanges(t *testing.T) {
	t.Parallel()
	changes := map[string]diff.Diff{"b": {Desired: int64(2)}, "a": {Desired: int64(1)}}
	got := Style{Indent: " "}.Changes(changes)
	if got != " a: 1\n b: 2\n" {
		t.Errorf("Changes = %q", got)
	}
	if got := (Style{}).Changes(nil); got != "" {
		t.Errorf("Changes of nothing = %q", got)
	}
}

// TestTextIsBounded pins that a long diff is cut where it is not to be whole.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	diff := Unified("", strings.Repeat("line\n", 1000))
	if got := strings.Count(Style{}.Text(diff), "\n"); got != maxLines+1 {
		t.Errorf("%d lines, want %d", got, maxLines+1)
	}
	if got := strings.Count(Style{Whole: true}.Text(diff), "\n"); got != 1001 {
		t.Errorf("%d lines, want 1001", got)
	}
}

// FuzzUnified pins that a unified diff turns the one text into the other.
func FuzzUnified(f *testing.F) {
	f.Add(before, after)
	f.Add("", "a\n")
	f.Add("a", "")
	f.Add("a\r\nb", "a\nb\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		diff := Unified(a, b)
		if (diff == "") != (a == b) {
			t.Fatalf("%q and %q: %q", a, b, diff)
		}
		if a == b {
			return
		}
		got, err := udiff.ApplyUnified("--- a\n+++ b\n"+diff, a)
		if err == nil && got != b && strings.HasSuffix(a, "\n") && strings.HasSuffix(b, "\n") {
			t.Errorf("%q and %q: %q gives %q", a, b, diff, got)
		}
	})
}

// TestUnifiedOfLargeTexts pins that the cost of texts that are too large to be compared by line is
// bounded.
func TestUnifiedOfLargeTexts(t *testing.T) {
	t.Parallel()
	a := strings.Repeat("a\n", maxDiff<<10)
	if got := Unified(a, "b\n"); !strings.HasSuffix(got, "\n+b\n") {
		t.Errorf("Unified ends with %q", got[len(got)-20:])
	}
}

func TestIsText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"": true, "Grüße\n\tx\r\n": true, "\x1b[1m": true,
		"a\x00b": false, "\xff\xfe": false, "\x7fELF\x02\x01\x01": false,
	} {
		if got := IsText([]byte(in)); got != want {
			t.Errorf("IsText(%q) = %v", in, got)
		}
	}
}

// TestOfHandler holds that people are told that the code of a handler has changed, and not what it
// is.
func TestOfHandler(t *testing.T) {
	t.Parallel()
	one, other := resource.File{Hash: "0123456789abcdef", Size: 1}, resource.File{Hash: "fedcba"}
	got := Style{Indent: "  "}.Changes(map[string]diff.Diff{
		"_code":  {Current: one, Desired: other, Unified: "-import os\n"},
		"_files": {Current: map[string]any{"x": one}, Desired: map[string]any{"x": other}},
	})
	if want := "  handler code: changed\n  files of the handler: changed\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Style{}).Change("_code", diff.Diff{Desired: one}); got != "" {
		t.Errorf("of one that is new it says %q", got)
	}
}
