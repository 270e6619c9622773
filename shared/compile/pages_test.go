package compile_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"southbound/shared/compile"
	"southbound/shared/diag"
)

var update = flag.Bool("update", false, "write what examples of docs/language print anew")

const pages = "../../docs/language/"

// example is a part of a page under a heading of its own, with the files that it shows.
type example struct {
	title string
	files map[string]string // by their paths
	setup string            // a shell script that writes what cannot be shown
	said  string            // the console that is shown
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")

// examples returns the examples of a page. A block is a file if it says its language: cf without a
// name is main.cf.
func examples(text string) []example {
	var out []example
	for _, part := range strings.Split(text, "\n## ")[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		e := example{title: strings.Trim(title, "` "), files: map[string]string{}}
		for _, m := range fence.FindAllStringSubmatch(rest, -1) {
			switch {
			case m[1] == "console":
				e.said = m[3]
			case m[1] == "sh":
				e.setup = m[3]
			case m[2] != "":
				e.files[m[2]] = m[3]
			case m[1] == "cf":
				e.files["main.cf"] = m[3]
			}
		}
		out = append(out, e)
	}
	return out
}

// write writes an example to a directory of its own, which becomes the working directory.
func (e example) write(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range e.files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if e.setup != "" {
		script := exec.CommandContext(t.Context(), "sh", "-ec", e.setup)
		if out, err := script.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// run compiles an example in a directory of its own, and returns what the terminal shows and the
// codes of its problems and warnings.
func (e example) run(t *testing.T) (said string, codes []string) {
	t.Helper()
	e.write(t)
	var b strings.Builder
	o := compile.Options{Path: ".", Types: registry(t), Print: func(s string) { b.WriteString(s) }}
	c, err := compile.Model(context.Background(), o)
	problems, _ := diag.Of(err)
	if err != nil && len(problems) == 0 {
		t.Fatal(err)
	}
	show := func(first string, all diag.Problems) {
		lines := compile.Lines()
		for _, p := range all {
			codes = append(codes, p.Code)
			b.WriteString(first + strings.Join(p.Lines(lines), "\n") + "\n")
		}
	}
	show("", problems)
	if err == nil {
		show("warning: ", c.Warnings)
	}
	return b.String(), codes
}

// TestPages holds that the tour and the reference show models that compile, and what they print.
// With -update it writes that anew.
func TestPages(t *testing.T) {
	for name, least := range map[string]int{"tour.md": 10, "reference.md": 15} {
		page, err := filepath.Abs(pages + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text, n := string(b), 0
		for _, e := range examples(text) {
			if len(e.files) == 0 {
				continue
			}
			n++
			t.Run(name+" "+e.title, func(t *testing.T) {
				said, codes := e.run(t)
				if len(codes) > 0 {
					t.Errorf("the codes are %v:\n%s", codes, said)
				}
				if *update {
					at := strings.Index(text, "\n## "+e.title+"\n")
					text = text[:at] + strings.Replace(text[at:], e.said, said, 1)
				} else if said != e.said {
					t.Errorf("it says\n%s\ninstead of\n%s", said, e.said)
				}
			})
		}
		if n < least {
			t.Errorf("%s has %d examples", name, n)
		}
		if *update {
			if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestErrorPage holds that docs/language/errors.md lists every code of problems with an example
// that has it, and shows what the terminal does. With -update it writes that anew.
func TestErrorPage(t *testing.T) {
	page, err := filepath.Abs(pages + "errors.md")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	missing := codesOf(t)
	for _, e := range examples(text) {
		if !slices.Contains(missing, e.title) {
			t.Errorf("%s is there twice, or is not a code", e.title)
		}
		missing = slices.DeleteFunc(missing, func(c string) bool { return c == e.title })
		t.Run(e.title, func(t *testing.T) {
			said, codes := e.run(t)
			if !slices.Contains(codes, e.title) {
				t.Errorf("the codes are %v:\n%s", codes, said)
			}
			if *update {
				at := strings.Index(text, "\n## `"+e.title+"`\n")
				text = text[:at] + strings.Replace(text[at:], e.said, said, 1)
			} else if said != e.said {
				t.Errorf("it says\n%s\ninstead of\n%s", said, e.said)
			}
		})
	}
	if len(missing) > 0 {
		t.Errorf("not on the page: %v", missing)
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	codeConstant = regexp.MustCompile(`(?m)^\s*Code\w+\s*= "(\w+)"`)
	codeLiteral  = regexp.MustCompile(`Code:\s*"(\w+)"`)
)

// codesOf returns all codes that problems of models have, as the sources say.
func codesOf(t *testing.T) []string {
	t.Helper()
	var out []string
	files, err := filepath.Glob("../lang/*/*.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all := codeConstant.FindAllStringSubmatch(string(b), -1)
		for _, m := range append(all, codeLiteral.FindAllStringSubmatch(string(b), -1)...) {
			if !slices.Contains(out, m[1]) {
				out = append(out, m[1])
			}
		}
	}
	return out
}
