package diag_test

import (
	"strings"
	"testing"

	"southbound/shared/diag"
)

// TestLines pins how a problem is shown, with the line that it is about and a mark below the word.
func TestLines(t *testing.T) {
	lines := map[int]string{
		1: `host = Host(name="web1")`,
		2: "\tport = 80",
		3: strings.Repeat("x", 300),
		4: "é = wörld::naïve:",
		5: `s = "a \" b" + 1`,
	}
	text := func(at diag.Pos) (string, bool) { s, ok := lines[at.Line]; return s, ok }
	at := func(line,
		column int) diag.Pos {
		return diag.Pos{File: "main.cf", Line: line, Column: column}
	}
	for _, c := range []struct {
		pos  diag.Pos
		want string
	}{
		{at(1, 8), "main.cf:1:8: m\n    1 | host = Host(name=\"web1\")\n      |        ^^^^"},
		{at(2, 2), "main.cf:2:2: m\n    2 | \tport = 80\n      | \t^^^^"},
		{at(4, 5), "main.cf:4:5: m\n    4 | é = wörld::naïve:\n      |     ^^^^^^^^^^^^"},
		{at(5, 5), "main.cf:5:5: m\n    5 | s = \"a \\\" b\" + 1\n      |     ^^^^^^^^"},
		{at(5, 17), "main.cf:5:17: m\n    5 | s = \"a \\\" b\" + 1\n      |                 ^"},
		{at(5, 99), "main.cf:5:99: m"},
		{at(9, 1), "main.cf:9:1: m"},
		{at(1, 0), "main.cf:1: m"},
	} {
		got := strings.Join(diag.Problem{Pos: c.pos, Message: "m"}.Lines(text), "\n")
		if got != c.want {
			t.Errorf("%v:\n%s\ninstead of\n%s", c.pos, got, c.want)
		}
	}
	for _, l := range (diag.Problem{Pos: at(3, 250), Message: "m"}).Lines(text) {
		if n := len([]rune(l)); n > 120 {
			t.Errorf("a line of %d characters: %s", n, l)
		}
	}
	p := diag.Problem{
		Pos: at(2, 2), Message: "m\nmore", Hint: "do it\nnow",
		Related: []diag.Related{{Pos: at(1, 1), Message: "it is here"}, {Pos: at(1, 8)}},
	}
	want := "main.cf:2:2: m\n  more\n    2 | \tport = 80\n      | \t^^^^\n  main.cf:1:1: it is " +
		"here\n    1 | host = Host(name=\"web1\")\n      | ^^^^\n  do it\n  now"
	if got := strings.Join(p.Lines(text), "\n"); got != want {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
}
