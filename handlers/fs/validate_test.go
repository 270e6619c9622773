package fs

import (
	"fmt"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
)

// has5 is a check that a file has a line with a 5 in it; it says which file it was asked about.
func has5(text string) any { return "grep -q 5 % || { echo " + text + " in %; exit 3; }" }

func TestChecked(t *testing.T) {
	for _, tc := range []struct {
		why      string
		validate any
		content  string
		class    provider.Class // "": it passes
		part     string
	}{
		{"a list", []any{"grep", "5", "%"}, "5", "", ""},
		{"text for a shell", "grep 5 % >&2", "5", "", ""},
		{"more than once in a word",
			[]any{"sh", "-c", `test "$1" = "x$0y" && test -f "$0" && echo 100%%`, "%", "x%y"}, "5",
			"", ""},
		{"refused", []any{"grep", "5", "%"}, "4", provider.NeedsChange,
			"refused by validate (exit code 1)"},
		{"what it says names the file that is meant", has5("nothing"), "4", provider.NeedsChange,
			"(exit code 3): nothing in "},
		{"no such program", []any{"there-is-no-such-program", "%"}, "5", provider.Retryable,
			"there-is-no-such-program"},
	} {
		for _, name := range []string{"a", "it's a $HOME; `b`"} {
			t.Run(tc.why+"/"+name, func(t *testing.T) {
				g := newRig(t, File())
				r := g.resource(map[string]any{"path": g.path(name), "content": tc.content,
					"validate": tc.validate, "mode": "0604"})
				if tc.class == "" {
					g.must(r, diff.Created)
					g.write(name, "old", 0o600)
					g.must(r, diff.Updated)
					g.has(fmt.Sprintf("%s -rw----r-- %q", name, tc.content))
					return
				}
				g.fails(r, tc.class, tc.part)
				g.has()
				g.write(name, "old", 0o600)
				r.Attributes["backup"] = true
				g.fails(r, tc.class, tc.part)
				if _, _, err := g.apply(r); strings.Contains(err.Error(), ".southbound-") {
					t.Error("it names the file that was asked about:", err)
				}
				g.has(fmt.Sprintf("%s -rw------- %q", name, "old"))
				r.Purged = true
				g.must(r, diff.Purged)
			})
		}
	}
}

// TestCheckedSeesOwnerAndMode has a check look at all that will be there.
func TestCheckedSeesOwnerAndMode(t *testing.T) {
	g := newRig(t, File())
	g.must(g.resource(map[string]any{"path": g.path("a"), "content": "#!/bin/sh\nexit 7\n",
		"mode": "0750", "validate": `test "$(stat -c %%a %)" = 750`}), diff.Created)
}

func TestCheckedLines(t *testing.T) {
	g := newRig(t, Line())
	g.write("a", "5\n", 0o640)
	at := func(name string, attrs map[string]any) provider.Resource {
		attrs["path"], attrs["name"], attrs["backup"] = g.path("a"), name, true
		return g.resource(attrs)
	}
	check := []any{"sh", "-c", `! grep -q bad "$0"`, "%"}
	g.fails(at("x", map[string]any{"line": "bad", "validate": check}), provider.NeedsChange,
		"refused")
	g.has(`a -rw-r----- "5\n"`)
	// Of a batch, only what is to blame fails.
	var items []provider.BatchChange
	for _, text := range []string{"one", "bad", "two"} {
		items = append(items, provider.BatchChange{Context: g.ctx(), Change: diff.Created,
			Resource: at(text, map[string]any{"line": text, "validate": check})})
	}
	out := g.def.Handler.(line).ApplyBatch(t.Context(), items)
	if out[0].Err != nil || out[1].Err == nil ||
		provider.ClassOf(out[1].Err) != provider.NeedsChange || out[2].Err != nil {
		t.Fatal(out)
	}
	g.has(`a -rw-r----- "5\none\ntwo\n"`, `a.bak -rw-r----- "5\n"`, `a.bak.1 -rw-r----- "5\none\n"`)
	// What is left by a purge is checked, too.
	gone := at("one", map[string]any{"line": "one", "validate": []any{"grep", "one", "%"}})
	gone.Purged = true
	g.fails(gone, provider.NeedsChange, "refused")
}

// TestCheckedCutOff stops a change before each of its steps.
func TestCheckedCutOff(t *testing.T) {
	for kind, def := range map[string]func(*disk.System) provider.Definition{"file": withFile,
		"line": withLine} {
		t.Run(kind, func(t *testing.T) {
			for n := 0; ; n++ {
				s := &providertest.Stopper{}
				g := newRig(t, def(stopped(s, func(string) error { return nil })))
				g.write("a", "old\n", 0o600)
				attrs := map[string]any{"path": g.path("a"), "content": "old\n5\n",
					"validate": has5("nothing"), "backup": "~"}
				if kind == "line" {
					delete(attrs, "content")
					attrs["name"], attrs["line"] = "n", "5"
				}
				r := g.resource(attrs)
				restore := s.Interrupt(n)
				_, _, err := g.apply(r)
				if !restore() {
					if err != nil || n < 5 {
						t.Fatal(n, err)
					}
					return
				}
				if _, _, err := g.apply(r); err != nil {
					t.Fatal(n, err)
				}
				g.has(`a -rw------- "old\n5\n"`, `a~ -rw------- "old\n"`)
			}
		})
	}
}

func TestCheckedDeclaration(t *testing.T) {
	for why, tc := range map[string]struct {
		validate any
		part     string
	}{
		"no place for the path": {"visudo -c", "lacks the place"},
		"only a single % sign":  {[]any{"echo", "100%%"}, "lacks the place"},
		"a secret in an argument": {[]any{"x", resource.Secret{Source: "env:X"}, "%"},
			"can be seen"},
		"fine": {"visudo -cf %", ""},
	} {
		g := newRig(t, File())
		_, problems := g.typ.Check(map[string]any{"path": "/x", "validate": tc.validate})
		if got := fmt.Sprint(problems); (len(problems) > 0) != (tc.part != "") ||
			!strings.Contains(got, tc.part) {
			t.Error(why, got)
		}
	}
}
