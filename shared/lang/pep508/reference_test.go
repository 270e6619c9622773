package pep508_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"southbound/shared/lang/pep508"
)

var (
	python = flag.String("python", "", "a Python with packaging, to ask for answers anew")
	save   = flag.String("save", "", "file in which its answers are kept")
	count  = flag.Int("requirements", 4000, "how many requirements to ask about")
	seed   = flag.Uint64("seed", 1, "of the requirements")
)

type question struct {
	Requirement string            `json:"requirement"`
	Environment map[string]string `json:"environment"`
}

type answer struct {
	Name       string   `json:"name,omitempty"`
	Extras     []string `json:"extras,omitempty"`
	URL        string   `json:"url,omitempty"`
	Specifiers []string `json:"specifiers,omitempty"`
	Holds      bool     `json:"holds,omitempty"`
}

type example struct {
	Question question `json:"question"`
	Answer   answer   `json:"answer"`
}

// TestReference holds requirements against answers of packaging: those that are kept, or those of
// a Python that is named.
func TestReference(t *testing.T) {
	t.Parallel()
	all := asked(t)
	if *python == "" {
		all = kept(t)
	}
	if len(all) < 4000 {
		t.Errorf("%d requirements", len(all))
	}
	wrong := 0
	for _, e := range all {
		got := ours(e.Question)
		if !reflect.DeepEqual(got, e.Answer) {
			if wrong++; wrong < 20 {
				t.Errorf("%q in %v\n got %+v\nwant %+v", e.Question.Requirement,
					e.Question.Environment, got, e.Answer)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d differ", wrong, len(all))
	}
}

func ours(q question) answer {
	r, err := pep508.Parse(q.Requirement)
	if err != nil {
		return answer{}
	}
	out := answer{Name: r.Name, URL: r.URL, Holds: r.Holds(q.Environment)}
	out.Extras = append(out.Extras, r.Extras...)
	for _, s := range r.Set {
		out.Specifiers = append(out.Specifiers, s.String())
	}
	slices.Sort(out.Specifiers)
	out.Specifiers = slices.Compact(out.Specifiers)
	return out
}

func kept(t *testing.T) []example {
	t.Helper()
	f, err := os.Open("testdata/requirements.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	for d := json.NewDecoder(z); d.More(); {
		var e example
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func asked(t *testing.T) []example {
	t.Helper()
	if *python == "" {
		return nil
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	out := make([]example, *count)
	var in, file bytes.Buffer
	for i := range out {
		out[i].Question = ask(random)
		if err := json.NewEncoder(&in).Encode(out[i].Question); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(*python, "../pep440/testdata/reference.py")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	answers, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(&file)
	d := json.NewDecoder(bytes.NewReader(answers))
	for i := range out {
		a := &out[i].Answer
		if err := d.Decode(a); err != nil {
			t.Fatal(err)
		}
		if len(a.Extras) == 0 {
			a.Extras = nil
		}
		if a.Specifiers = slices.Compact(a.Specifiers); len(a.Specifiers) == 0 {
			a.Specifiers = nil
		}
		if err := json.NewEncoder(z).Encode(out[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if *save != "" {
		if err := os.WriteFile(*save, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// ask makes a requirement, sometimes a wrong one, and an environment.
func ask(r *rand.Rand) question {
	s := pick(r, "", "", " ") +
		pick(r, "std", "inmanta-module-std", "a", "A.b_c-d", "zope.x", "x-", "-x", "2to3")
	s += pick(r, "", "", " ")
	if r.IntN(4) == 0 {
		s += pick(r, "[a]", "[a,b]", "[ a , b ]", "[]", "[a b]", "[a,]", "[b,a,a]", "[é]", "[")
	}
	s += pick(r, "", "", " ")
	if r.IntN(6) == 0 {
		s += "@" + pick(r, "", " ") + pick(
			r,
			"git+https://h/r.git@main",
			"https://h/x.whl#sha256=00",
			"file:///x",
			"",
		) + pick(r, "", " ", "  ")
	} else {
		s += specifiers(r)
	}
	s += pick(r, "", "", "", " ")
	if r.IntN(2) == 0 {
		s += pick(r, ";", "; ", " ;") + marker(r, 0) + pick(r, "", "", " ", " x")
	}
	return question{s, map[string]string{
		"python_version":      pick(r, "3.12", "3.13", "3.9"),
		"python_full_version": pick(r, "3.12.1", "3.13.0rc1"),
		"os_name":             "posix", "sys_platform": pick(r, "linux", "win32"), "platform_machine": "x86_64",
		"platform_system": "Linux", "platform_release": pick(r, "6.1.0-13-amd64", "5.4"),
		"platform_version": "#1", "implementation_name": "cpython",
		"implementation_version":         "3.12.1",
		"platform_python_implementation": "CPython", "extra": pick(r, "", "Feature_X", "test"),
	}}
}

func specifiers(r *rand.Rand) string {
	n := r.IntN(4)
	parts := make([]string, n)
	ops := []string{">=", "<", "==", "~=", "!=", "<=", ">", "="}
	if n == 1 { // packaging takes a comma behind the version of === for a part of it
		ops = append(ops, "===")
	}
	for i := range parts {
		parts[i] = pick(r, ops...) + pick(r, "", "", " ") +
			pick(r, "1", "1.0", "2.0.dev0", "1.*", "1.0+x", "v1", "1!3", "3.1.4.post1", "x",
				"1.0.*")
	}
	s := strings.Join(parts, pick(r, ",", ", ", " , ", ",", ",", " "))
	return pick(r, s, s, s, "("+s+")", "( "+s+" )", s+",", "("+s)
}

func marker(r *rand.Rand, depth int) string {
	if depth < 3 && r.IntN(3) == 0 {
		m := marker(r, depth+1) + pick(r, " and ", " or ", " and ") + marker(r, depth+1)
		return pick(r, m, m, "("+m+")", "( "+m+" )", "("+m)
	}
	name := pick(r, "python_version", "python_full_version", "os_name", "os.name", "sys_platform",
		"platform_machine", "python_implementation", "implementation_name", "extra",
		"platform_release", "platform.machine", "nothing")
	value := pick(r, `"3.12"`, `'3.9'`, `"posix"`, `"linux"`, `"cpython"`, `"feature-x"`,
		`'CPython'`, `"3.13.0rc1"`, `"win32 linux"`, `"5.4"`, `3`, `"x86_64"`, `"3.*"`, `"test"`)
	op := pick(r, "==", "!=", "<", ">=", ">", "<=", "in", "not in", "in", "==", "is")
	if r.IntN(5) == 0 {
		name, value = value, name
	}
	return name + " " + op + " " + value
}

// FuzzParse holds that what is read can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add(
		`inmanta-module-std[a] >=1.0,<2 ; python_version < "3.12" and (extra == 'x' or os_name in "posix")`,
	)
	f.Add("x @ git+https://h/r ; os_name == 'nt'")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := pep508.Parse(text)
		if err != nil {
			return
		}
		again, err := pep508.Parse(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q is %q, and that is %q (%v)", text, r, again, err)
		}
	})
}
