package project_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
	"southbound/shared/lang/std"
)

// doubling returns a model whose variables grow by a line that has the variable before as V.
func doubling(first, line, last string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "v0 = %s\n", first)
	for i := range 60 {
		before := fmt.Sprintf("v%d", i)
		fmt.Fprintf(&b, "v%d = %s\n", i+1, strings.ReplaceAll(line, "V", before))
	}
	return b.String() + last
}

// loops returns loops in loops over ten elements.
func loops(deep int, body string) string {
	var b strings.Builder
	b.WriteString("digits = std::sequence(10)\n")
	for i := range deep {
		fmt.Fprintf(&b, "%sfor x%d in digits:\n", strings.Repeat(" ", i), i)
	}
	return b.String() + body + strings.Repeat("\nend", deep)
}

const thing = `entity Thing:
    int x
    string name
end
Thing.parts [0:] -- Thing.wholes [0:]
implement Thing using std::none
`

// endless are models that take more than they may.
func endless() map[string]string {
	const digits = "digits = std::sequence(10)\n"
	return map[string]string{
		"lists of plugins": "a = [1 for x in std::sequence(1000000) for y in " +
			"std::sequence(1000000)]",
		"long for": "for x in std::sequence(1000000):\n for y in std::sequence(1000000):\n" +
			"  z = x + y\n end\nend",
		"deep for": loops(9, "y = x1 + x2"),
		"deep comprehension": digits + "a = [1 for a in digits for b in digits for c in digits " +
			"for d in digits for e in digits for f in digits for g in digits for h in digits]",
		"strings":     doubling(`"0123456789"`, "V + V", ""),
		"lists":       doubling("[1, 2, 3]", "[V, V]", ""),
		"dicts":       doubling(`{"a": 1}`, `{"a": V, "b": V}`, "t = \"{{ v60 }}\""),
		"dicts lists": doubling(`{"a": 1}`, `{"a": [V, V]}`, "t = std::json_dumps(v60)"),
		"many dicts":  `a = [{"a": i, "b": i, "c": {"d": i}} for i in std::sequence(1000000)]`,
		"instances":   thing + loops(7, `Thing(x=1, name="thing")`),
		"relations": thing + "all = [Thing(x=i, name=\"a\") for i in std::sequence(3000)]\n" +
			"for one in all:\n one.parts = all\nend",
		"equal lists": "l = std::sequence(300000)\na = [i for i in l if l == l]",
		"template":    `a = std::template("/loop.tmpl")`,
		"templates":   `a = [std::template("/short.tmpl", n=i) for i in std::sequence(100000)]`,
		"lists in templates": `a = [std::template("/list.tmpl", n=i) for i in ` +
			`std::sequence(1000)]`,
		"sequence":    "a = std::sequence(1000000000)",
		"text parts":  long + "b = \"" + strings.Repeat("{{t6}}", 4000) + `"`,
		"f-string":    long + "b = f\"" + strings.Repeat("{t6}", 4000) + `"`,
		"conversions": long + "b = f\"" + strings.Repeat("{t6!r}", 4000) + `"`,
		"list parts":  "l = std::sequence(1000000)\na = [" + strings.Repeat("l, ", 4000) + "]",
		"element lists": "l = std::sequence(1000000)\n" +
			"a = [l for x in std::sequence(4000)]",
		"cast lists": long + "l = [t5, t5, t5, t5]\na = [string(l) for x in std::sequence(4000)]",
		"text joined in a type": long + "typedef joined as string matching (" +
			strings.TrimSuffix(strings.Repeat("self + ", 400), " + ") + ") != \"\"\n" +
			"entity T:\n joined x\nend\nimplement T using std::none\nT(x=t6)",
		"list in a type": "typedef joined as list matching [" + strings.Repeat("self, ", 4000) +
			"] != []\nentity T:\n joined x\nend\nimplement T using std::none\n" +
			"T(x=std::sequence(1000000))",
		"split":     long + `a = std::split(t6, "0")` + "\n" + `b = std::split(t6, "1")`,
		"flattened": long + "a = std::flatten([t6, t6, t6])",
	}
}

// long makes texts: each is ten times the one before, and t6 has ten million bytes.
const long = `t0 = "0000000000"
t1 = "{{t0}}{{t0}}{{t0}}{{t0}}{{t0}}{{t0}}{{t0}}{{t0}}{{t0}}{{t0}}"
t2 = "{{t1}}{{t1}}{{t1}}{{t1}}{{t1}}{{t1}}{{t1}}{{t1}}{{t1}}{{t1}}"
t3 = "{{t2}}{{t2}}{{t2}}{{t2}}{{t2}}{{t2}}{{t2}}{{t2}}{{t2}}{{t2}}"
t4 = "{{t3}}{{t3}}{{t3}}{{t3}}{{t3}}{{t3}}{{t3}}{{t3}}{{t3}}{{t3}}"
t5 = "{{t4}}{{t4}}{{t4}}{{t4}}{{t4}}{{t4}}{{t4}}{{t4}}{{t4}}{{t4}}"
t6 = "{{t5}}{{t5}}{{t5}}{{t5}}{{t5}}{{t5}}{{t5}}{{t5}}{{t5}}{{t5}}"
`

// large are models that take much, and may.
func large() map[string]string {
	return map[string]string{
		"comprehension": "a = [x * 2 for x in std::sequence(1000000)]",
		"guard":         "a = [x * 2 for x in std::sequence(1000000) if x > 5]",
		"for":           "for x in std::sequence(1000000):\n y = x * 2\nend",
		"entities":      nodes(50_000),
	}
}

// TestBounds holds that no model takes a gibibyte of memory: what would take more is refused, and
// what is large and may be compiles. Most of what is refused has a quarter of the usual bounds, and
// may take a quarter of that: what is taken grows with the bounds.
func TestBounds(t *testing.T) {
	if path := os.Getenv("PROJECT_BOUNDS_TEST"); path != "" {
		tellMemory(t, path)
		return
	}
	if testing.Short() {
		return // the race detector takes several times as much memory
	}
	if eval.DefaultLimits() != eval.LimitsWithin(most) {
		t.Errorf("the usual bounds are not those of %d MB", most>>20)
	}
	take := func(name, text, says string, memory int) {
		t.Run(name, func(t *testing.T) {
			path := bounded(t, text)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBounds$")
			cmd.Env = append(os.Environ(), "PROJECT_BOUNDS_TEST="+path,
				fmt.Sprintf("PROJECT_BOUNDS_MEMORY=%d", memory))
			out, err := cmd.CombinedOutput()
			var kb int
			_, said, _ := strings.Cut(string(out), "MEMORY ")
			if _, scanned := fmt.Sscan(said, &kb); err != nil || scanned != nil {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			t.Logf("%d MB, %.200s", kb>>10, strings.TrimSpace(said))
			if slices.Contains(bySteps, name) {
				memory = (memoryWithin + ownWithin) << 20
			}
			if kb >= memory>>10 {
				t.Errorf("it takes %d MB, more than %d", kb>>10, memory>>20)
			}
			if slices.Contains(bySteps, name) && !strings.Contains(said, "takes too long") {
				t.Errorf("it is not ended by its steps: %.500s", said)
			}
			if !strings.Contains(said, says) {
				t.Errorf("it says %.500s instead of %s", said, says)
			}
		})
	}
	for name, text := range endless() {
		memory := most / 4
		if slices.Contains(bySteps, name) || slices.Contains(undivided, name) {
			memory = most
		}
		take(name, text, "code: limit", memory)
	}
	for name, text := range large() {
		take(name, text, "code: none", most)
	}
}

// memoryWithin is how many megabytes whoever compiles a model has for it in TestBoundsWithin, and
// ownWithin how many the program takes itself.
const memoryWithin, ownWithin = 160, 16

// bySteps are the models that take so little memory that what ends them is the bound of steps,
// which is the same whatever memory there is.
var bySteps = []string{"equal lists", "templates"}

// most is how much memory the usual bounds are for, in bytes.
const most = 1 << 30

// undivided are the models that have the usual bounds in TestBounds: the one that takes most, and
// one that is ended by a bound which is the same whatever memory there is.
var undivided = []string{"many dicts", "split"}

// TestBoundsWithin holds that no model takes more memory than whoever compiles it has for models,
// and that the problem says whose bound it is. Of those that are ended by their steps TestBounds
// holds it: they do the same here.
func TestBoundsWithin(t *testing.T) {
	if path := os.Getenv("PROJECT_BOUNDS_TEST"); path != "" {
		tellMemory(t, path)
		return
	}
	if testing.Short() {
		return
	}
	for name, text := range endless() {
		if slices.Contains(bySteps, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBoundsWithin$")
			cmd.Env = append(os.Environ(), "PROJECT_BOUNDS_TEST="+bounded(t, text),
				fmt.Sprintf("PROJECT_BOUNDS_MEMORY=%d", memoryWithin<<20),
				fmt.Sprintf("GOMEMLIMIT=%dMiB", memoryWithin))
			out, err := cmd.CombinedOutput()
			kb := 0
			_, said, _ := strings.Cut(string(out), "MEMORY ")
			if _, scanned := fmt.Sscan(said, &kb); err != nil || scanned != nil {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			t.Logf("%d MB, %.200s", kb>>10, strings.TrimSpace(said))
			if kb>>10 > memoryWithin+ownWithin || !strings.Contains(said, "code: limit") {
				t.Errorf("it takes %d MB: %.500s", kb>>10, said)
			}
			if name == "deep for" && !strings.Contains(said, "grows with the memory") {
				t.Errorf("it does not say that there may be more memory: %s", said)
			}
		})
	}
}

// bounded writes a model with the templates that models of this test use.
func bounded(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	const loop = "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% " +
		"endfor %}"
	const list = "{% set n = namespace(l=[]) %}{% for a in range(1000) %}" +
		"{% set n.l = n.l + ['a' * 60000000] %}{% endfor %}"
	for name, text := range map[string]string{
		project.MainFile:       text,
		"templates/loop.tmpl":  loop,
		"templates/short.tmpl": strings.ReplaceAll(loop, "000000", "000"),
		"templates/list.tmpl":  list,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runModel loads and runs a model.
func runModel(ctx context.Context, path string, in eval.Program) error {
	p, err := project.Load(path, project.Options{})
	if err != nil {
		return err
	}
	in.Sources, in.Rules, in.Env, in.Plugins = p.Sources, p.Rules, p.Env, std.Plugins()
	_, _, err = eval.Run(ctx, in)
	return err
}

// tellMemory runs a model and prints how much memory that took, and what came out.
func tellMemory(t *testing.T, path string) {
	t.Helper()
	var in eval.Program
	if memory, err := strconv.ParseInt(os.Getenv("PROJECT_BOUNDS_MEMORY"), 10, 64); err == nil {
		in.Limits = eval.LimitsWithin(memory)
	}
	err := runModel(t.Context(), path, in)
	code, hint := "none", ""
	if found, _ := diag.Of(err); len(found) > 0 {
		code, hint = found[0].Code, found[0].Hint
	}
	kb := 0
	status, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(peak, &kb); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("MEMORY %d code: %s %.300v %s\n", kb, code, err, hint)
}

// TestInterrupted holds that a run ends when its context does, whatever it does then: the bounds
// are out of reach here.
func TestInterrupted(t *testing.T) {
	limits := eval.DefaultLimits()
	limits.Steps, limits.Bytes, limits.Memory = 1<<60, 1<<60, 1<<60
	const begin = "std::print(\"begin\")\n"
	for name, text := range map[string]string{
		"plugins":   "l = std::sequence(1000000)\na = [std::count(l) for x in l for y in l]",
		"for":       loops(12, "y = x1 + x2"),
		"templates": `a = [std::template("/loop.tmpl", n=i) for i in std::sequence(100)]`,
		"in":        "l = std::sequence(300000)\na = [i for i in l if (i + 1000000) in l]",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			in := eval.Program{Limits: limits, Print: func(string) { stop() }}
			err := runModel(ctx, bounded(t, begin+text), in)
			found, _ := diag.Of(err)
			if len(found) != 1 || found[0].Code != eval.CodeLimit ||
				!strings.Contains(found[0].Message, "interrupted") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
