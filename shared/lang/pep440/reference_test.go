package pep440_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/lang/pep440"
)

var (
	python = flag.String("python", "", "a Python with packaging, to ask for answers anew")
	save   = flag.String("save", "", "file in which its answers are kept")
	pairs  = flag.Int("pairs", 10000, "how many pairs to ask about")
	seed   = flag.Uint64("seed", 1, "of the pairs")
)

// question is a pair of versions and constraints; answer is what packaging says of it.
type question struct {
	A   string `json:"a"`
	B   string `json:"b"`
	Set string `json:"set"`
}

type answer struct {
	A      *string  `json:"a"`
	B      *string  `json:"b"`
	Base   *string  `json:"base"`
	Dev    *bool    `json:"dev"`
	Pre    *bool    `json:"pre"`
	Order  *int     `json:"order"`
	Set    bool     `json:"set,omitempty"`
	In     []bool   `json:"in,omitempty"`
	Filter []string `json:"filter"`
}

type pair struct {
	Question question `json:"question"`
	Answer   answer   `json:"answer"`
}

// TestReference holds versions and constraints against answers of packaging: those that are kept,
// or those of a Python that is named.
func TestReference(t *testing.T) {
	t.Parallel()
	var all []pair
	if *python == "" {
		all = kept(t)
	} else {
		all = asked(t)
	}
	if len(all) < 10000 {
		t.Errorf("%d pairs", len(all))
	}
	wrong := 0
	for _, p := range all {
		if got := ours(p.Question); !reflect.DeepEqual(got, p.Answer) {
			if wrong++; wrong < 20 {
				g, _ := json.Marshal(got)
				w, _ := json.Marshal(p.Answer)
				t.Errorf("%+v\n got %s\nwant %s", p.Question, g, w)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d differ", wrong, len(all))
	}
}

func kept(t *testing.T) []pair {
	t.Helper()
	f, err := os.Open("testdata/pairs.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []pair
	for d := json.NewDecoder(z); d.More(); {
		var p pair
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func asked(t *testing.T) []pair {
	t.Helper()
	random := rand.New(rand.NewPCG(*seed, 0))
	out := make([]pair, *pairs)
	var in bytes.Buffer
	for i := range out {
		out[i].Question = ask(random)
		line, _ := json.Marshal(out[i].Question)
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command(*python, "testdata/reference.py")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	answers, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var kept bytes.Buffer
	z := gzip.NewWriter(&kept)
	d := json.NewDecoder(bytes.NewReader(answers))
	for i := range out {
		if err := d.Decode(&out[i].Answer); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(z).Encode(out[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if *save != "" {
		if err := os.WriteFile(*save, kept.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// ours answers a question.
func ours(q question) answer {
	var out answer
	var these []pep440.Version
	text := func(s string) *string { return &s }
	a, errA := pep440.Parse(q.A)
	b, errB := pep440.Parse(q.B)
	if errA == nil {
		dev, pre := a.IsDev(), a.IsPrerelease()
		out.A, out.Dev, out.Pre, out.Base = text(a.String()), &dev, &pre, text(a.Base().String())
		these = append(these, a)
	}
	if errB == nil {
		out.B = text(b.String())
		these = append(these, b)
	}
	if errA == nil && errB == nil {
		order := a.Compare(b)
		out.Order = &order
	}
	set, err := pep440.ParseSet(q.Set)
	if err != nil {
		return out
	}
	out.Set = true
	out.In = []bool{errA == nil && set.Contains(a), errB == nil && set.Contains(b)}
	out.Filter = []string{}
	for _, v := range set.Filter(these, false) {
		out.Filter = append(out.Filter, v.String())
	}
	return out
}

// ask makes a question: versions that are near each other, in all ways of writing, some of them
// wrong.
func ask(r *rand.Rand) question {
	base := release(r)
	one := func() string {
		if r.IntN(3) > 0 {
			return version(r, base)
		}
		return version(r, release(r))
	}
	var set []string
	for range 1 + r.IntN(3) {
		v := one()
		if r.IntN(5) == 0 {
			v = base + ".*"
		}
		ops := []string{"==", "!=", ">=", "<=", ">", "<", "~=", "==", ">=", "<", "===", "=", "~>"}
		op := ops[r.IntN(len(ops))]
		set = append(set, op+pick(r, "", "", " ", "\t")+v)
	}
	return question{A: one(), B: one(), Set: strings.Join(set, pick(r, ",", ", ", " ,", ",,"))}
}

func release(r *rand.Rand) string {
	parts := make([]string, 1+r.IntN(4))
	for i := range parts {
		parts[i] = pick(r, "0", "1", "2", "3", "10", "01", fmt.Sprint(r.IntN(2030)),
			"123456789012345678901234567890")
		if i > 0 && r.IntN(3) == 0 {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, ".")
}

func version(r *rand.Rand, release string) string {
	n := func() string { return pick(r, "", "0", "1", "2", "12", "007", "20260101120000") }
	sep := func() string { return pick(r, "", "", ".", "-", "_") }
	s := pick(r, "", "", "", "", "v", "V", " ") + pick(r, "", "", "", "", "", "", "1!", "0!") +
		release
	if r.IntN(4) == 0 {
		s += pick(r, ".0", ".0.0", ".1", ".2")
	}
	if r.IntN(3) == 0 {
		s += sep() + pick(r, "a", "b", "rc", "alpha", "Beta", "c", "pre", "preview", "RC") +
			sep() + n()
	}
	if r.IntN(5) == 0 {
		s += pick(
			r,
			"-"+pick(r, "0", "1", "3"),
			sep()+pick(r, "post", "rev", "r", "POST")+sep()+n(),
		)
	}
	if r.IntN(4) == 0 {
		s += sep() + "dev" + sep() + n()
	}
	if r.IntN(6) == 0 {
		s += "+" + pick(r, "local", "ubuntu.1", "1", "2", "01", "abc.7-X_3", "1.a", "a.1")
	}
	if r.IntN(25) == 0 { // wrong
		s = pick(r, "", "x"+s, s+".x", s+"+", s+"..1", "latest", s+" "+s, "1.0-", "1._1", s+"é")
	}
	return s
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
