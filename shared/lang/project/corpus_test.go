package project_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

var (
	oracle = flag.String(
		"oracle",
		"",
		"command of the reference compiler: reads cases and writes results, a JSON object a "+
			"line. Without it nothing new is tried",
	)
	models = flag.Int("models", 500, "how many models to make")
	seed   = flag.Uint64("seed", 1, "of the models")
	save   = flag.String("save", "", "file to which results are saved as a corpus")
	cases  = flag.String(
		"cases",
		"",
		"file with models to run instead of made ones, a JSON object a line",
	)
	show    = flag.Int("show", 5, "how many differences to show")
	modules = flag.Bool("modules", false, "make models of several modules")
)

// testCase is a model.
type testCase struct {
	ID    string            `json:"id"`
	Model string            `json:"model"`
	Std   bool              `json:"std"`
	Files map[string]string `json:"files,omitempty"` // those of its modules
}

// outcome is what a compiler did with a model.
type outcome struct {
	ID        string         `json:"id"`
	Outcome   string         `json:"outcome"`
	Phase     string         `json:"phase,omitempty"`
	Type      []string       `json:"type,omitempty"`
	Message   string         `json:"message,omitempty"`
	Trace     string         `json:"trace,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
	Instances map[string]int `json:"instances,omitempty"`
	Output    string         `json:"output,omitempty"`
	Why       string         `json:"why,omitempty"`
}

// saved is a model with what the reference compiler did.
type saved struct {
	testCase
	Want outcome `json:"want"`
}

// TestCorpus holds the compiler against saved results of the reference compiler.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus := readCorpus(t, "testdata/corpus.jsonl.gz")
	if len(corpus) < 500 {
		t.Fatalf("only %d models", len(corpus))
	}
	lines, dir := tally{}, t.TempDir()
	for _, c := range corpus {
		if d := lines.difference(c, run(t, dir, c.testCase)); d != "" {
			t.Errorf("model %s\n%s\n%s", c.ID, c.text(), d)
		}
	}
	if lines.elsewhere*20 > lines.errors {
		t.Errorf(
			"of %d errors %d are on lines of which nothing is said",
			lines.errors,
			lines.elsewhere,
		)
	}
}

func readCorpus(t *testing.T, file string) []saved {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return decode[saved](t, z)
}

func decode[T any](t *testing.T, r io.Reader) []T {
	t.Helper()
	var out []T
	d := json.NewDecoder(r)
	d.UseNumber()
	for {
		var v T
		if err := d.Decode(&v); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
}

// TestOracle makes models and compares with the reference compiler, when that is given.
func TestOracle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var made []testCase
	if *cases != "" {
		f, err := os.Open(*cases)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		made = decode[testCase](t, f)
	} else {
		for i := range *models {
			r := rand.New(rand.NewPCG(*seed, uint64(i)))
			c := testCase{ID: strconv.Itoa(i), Std: true}
			if *modules {
				c.Model, c.Files = generateModules(r)
			} else {
				c.Model = generate(r)
			}
			made = append(made, c)
		}
	}
	if *oracle == "" {
		for _, c := range made[:min(len(made), 200)] {
			run(t, dir, c) // no panic, no hang
		}
		return
	}
	wants := ask(t, made)
	total := tally{}
	shown := 0
	var keep []saved
	for i, c := range made {
		s := saved{c, wants[i]}
		if s.Want.Outcome == "harness" {
			total.harness++
			continue
		}
		keep = append(keep, s)
		if d := total.difference(s, run(t, dir, c)); d != "" {
			total.differ++
			if shown++; shown <= *show {
				t.Errorf("model %s\n%s\n%s", c.ID, c.text(), d)
			}
		}
	}
	t.Logf("%+v of %d", total, len(made))
	if *save != "" {
		write(t, *save, keep)
	}
}

func write(t *testing.T, file string, corpus []saved) {
	t.Helper()
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	e := json.NewEncoder(z)
	for _, s := range corpus {
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask asks the reference compiler.
func ask(t *testing.T, made []testCase) []outcome {
	t.Helper()
	var in bytes.Buffer
	e := json.NewEncoder(&in)
	for _, c := range made {
		if err := e.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	words := strings.Fields(*oracle)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	wants := decode[outcome](t, bufio.NewReader(bytes.NewReader(out)))
	if len(wants) != len(made) {
		t.Fatalf("%d results for %d models", len(wants), len(made))
	}
	return wants
}

// got is what this compiler did.
type got struct {
	outcome
	problems diag.Problems
}

// run compiles a model here, as if it stood in an empty folder. Only one with modules is written:
// to make files takes longer than to compile most models.
func run(t *testing.T, dir string, c testCase) got {
	t.Helper()
	o := project.Options{NoStd: !c.Std}
	if len(c.Files) > 0 {
		dir = t.TempDir()
		c.write(t, dir)
		defer os.RemoveAll(dir)
	} else {
		main := filepath.Join(dir, project.MainFile)
		o.Text = func(path string) (string, bool) { return c.Model, path == main }
	}
	g := got{outcome: outcome{Outcome: "ok"}}
	p, err := project.Load(dir, o)
	if err == nil {
		limits := eval.DefaultLimits()
		limits.Depth, limits.Instances, limits.Steps = 500, 20_000, 2_000_000
		var r *eval.Result
		r, _, err = eval.Run(
			context.Background(),
			eval.Program{
				Sources: p.Sources,
				Rules:   p.Rules,
				Plugins: std.Plugins(),
				Limits:  limits,
			},
		)
		g.Output = r.Output
		if err == nil {
			g.Instances, g.Variables = r.Counts, map[string]any{}
			for name, v := range r.Variables {
				g.Variables[name] = plain(v)
			}
		}
	}
	if err != nil {
		g.Outcome = "error"
		g.problems, _ = diag.Of(err)
		if len(g.problems) == 0 {
			t.Errorf("%s: an error without a problem: %v", c.ID, err)
		}
	}
	return g
}

// write writes the files of a model.
func (c testCase) write(t *testing.T, dir string) {
	t.Helper()
	files := map[string]string{project.MainFile: c.Model}
	for name, text := range c.Files {
		files[filepath.Join("libs", name)] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// text returns the texts of a model, for people.
func (c testCase) text() string {
	out := numbered(c.Model)
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if filepath.Ext(name) == ".cf" {
			out += name + "\n" + numbered(c.Files[name])
		}
	}
	return out
}

// plain returns a value as the oracle shows it.
func plain(v types.Value) any {
	switch v := v.(type) {
	case types.Null:
		return nil
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case *big.Int:
		return json.Number(v.String())
	case float64:
		switch { // as there is no such number in JSON
		case math.IsNaN(v):
			return "nan"
		case math.IsInf(v, 0):
			return strings.ToLower(strings.TrimPrefix(fmt.Sprint(v), "+"))
		}
		return v
	case *types.List:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = plain(item)
		}
		return out
	case *types.Dict:
		out := map[string]any{}
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			out[k] = plain(item)
		}
		return out
	case *types.Unknown:
		return map[string]any{"unknown": true}
	case types.Object:
		return map[string]any{"instance": v.Type().FullName()}
	}
	return v
}

// same compares values; numbers by what they are, and whether they are whole.
func same(want, have any) bool {
	if n, ok := want.(json.Number); ok {
		f, isFloat := have.(float64)
		if !isFloat {
			return n == have
		}
		w, err := n.Float64()
		return err == nil && strings.ContainsAny(n.String(), ".e") && w == f
	}
	switch want := want.(type) {
	case []any:
		h, ok := have.([]any)
		return ok && slices.EqualFunc(want, h, same)
	case map[string]any:
		h, ok := have.(map[string]any)
		return ok && maps.EqualFunc(want, h, same)
	}
	if w, ok := want.(string); ok {
		h, ok := have.(string)
		return ok && impersonal(w) == impersonal(h)
	}
	return want == have
}

// tally counts what came out.
type tally struct{ errors, elsewhere, harness, differ, documented int }

// place is one in a trace: in main.cf, a module of the model or one that is installed.
var place = regexp.MustCompile(`(?:\{\w+\}|inmanta_plugins)/([\w/]+\.cf):(\d+)`)

var (
	// address is what the text of an instance ends with: there the place in memory, here its
	// number.
	address = regexp.MustCompile(`([\w:]+::\w+) +[0-9a-f]+`)
	// folder is that of the model.
	folder = regexp.MustCompile(`(instantiated at |,)/[^ ,)]*/`)
	// nothing is an unknown value in a list that is put into a text.
	nothing = regexp.MustCompile(`<inmanta.execute.util.Unknown object at \w+>`)
)

// impersonal returns a text without what differs from run to run there.
func impersonal(text string) string {
	text = folder.ReplaceAllString(address.ReplaceAllString(text, "$1"), "$1")
	return nothing.ReplaceAllString(text, "<unknown>")
}

// documented reports whether docs/language/differences.md names a difference.
func documented(want outcome, g got) bool {
	if g.Outcome == "error" &&
		strings.HasPrefix(want.Message, "Syntax error: Unexpected end of file") {
		return true // the line behind the end
	}
	return slices.ContainsFunc(g.problems, func(p diag.Problem) bool {
		return strings.HasPrefix(p.Message, "the power of a negative number with a fraction")
	})
}

// difference says in what a run differs from the reference; "" if it does not.
func (n *tally) difference(s saved, g got) string {
	want := s.Want
	var out []string
	if documented(want, g) {
		n.documented++
		return ""
	}
	if want.Outcome != g.Outcome {
		return fmt.Sprintf(
			"reference: %s %s\nhere: %s %v",
			want.Outcome,
			want.Trace,
			g.Outcome,
			g.problems,
		)
	}
	if impersonal(want.Output) != impersonal(g.Output) {
		out = append(out, fmt.Sprintf("reference printed:\n%s\nhere:\n%s", want.Output, g.Output))
	}
	if want.Outcome == "error" {
		n.errors++
		if !n.onLine(want, g) {
			n.elsewhere++
			if *oracle != "" {
				out = append(
					out,
					fmt.Sprintf("lines: reference: %s\nhere: %+v", want.Trace, g.problems),
				)
			}
		}
		return strings.Join(out, "\n")
	}
	if !maps.Equal(want.Instances, g.Instances) {
		out = append(
			out,
			fmt.Sprintf("instances: reference %v\nhere %v", want.Instances, g.Instances),
		)
	}
	if !maps.EqualFunc(want.Variables, g.Variables, same) {
		out = append(
			out,
			fmt.Sprintf("variables: reference %v\nhere %v", want.Variables, g.Variables),
		)
	}
	return strings.Join(out, "\n")
}

// onLine reports whether the line that the reference names first is among the places here.
func (n *tally) onLine(want outcome, g got) bool {
	m := lastPlace(want.Trace)
	if m == nil {
		return true
	}
	line, _ := strconv.Atoi(m[2])
	there := func(at diag.Pos) bool { return at.Line == line && strings.HasSuffix(at.File, m[1]) }
	for _, p := range g.problems {
		if there(p.Pos) {
			return true
		}
		for _, r := range p.Related {
			if there(r.Pos) {
				return true
			}
		}
	}
	return false
}

// lastPlace returns the place at which the first problem of a trace was reported; nil for none.
func lastPlace(trace string) []string {
	if i := strings.Index(trace, "(reported in"); i >= 0 {
		line, _, _ := strings.Cut(trace[i:], "\n")
		if m := place.FindAllStringSubmatch(line, -1); m != nil {
			return m[len(m)-1]
		}
	}
	return place.FindStringSubmatch(trace)
}

func numbered(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%3d %s\n", i+1, line)
	}
	return b.String()
}
