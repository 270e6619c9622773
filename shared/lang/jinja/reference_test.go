package jinja

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"strings"
	"testing"

	"southbound/shared/lang/types"
)

// corpus is what Jinja2 3.1.6 with StrictUndefined makes of templates; testdata/render.py says how
// it was written.
type corpus struct {
	Templates map[string]string
	Context   json.RawMessage
	Cases     []struct {
		Template string
		Output   string
		Error    string // the class of the exception; "syntax" before anything is rendered
		Line     int
		Message  string
	}
}

// refused are templates that are refused by name; docs/language/templates.md says why.
var refusedTemplates = []string{"|random", "|urlize", "lipsum"}

func reference(t testing.TB) corpus {
	t.Helper()
	text, err := os.ReadFile(cmp.Or(os.Getenv("JINJA_CORPUS"), "testdata/jinja2.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c corpus
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReference(t *testing.T) {
	c := reference(t)
	if len(c.Cases) < 500 {
		t.Fatalf("%d cases", len(c.Cases))
	}
	for _, k := range c.Cases {
		out, err := rendered(k.Template, c.Templates, variables(t, c.Context))
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%q: %v is not an *Error", k.Template, err)
			continue
		}
		if wanted(k.Template) {
			if e == nil || !strings.Contains(e.Reason, "not supported") {
				t.Errorf("%q is not refused: %q, %v", k.Template, out, err)
			}
			continue
		}
		switch {
		case k.Error == "" && (e != nil || out != k.Output):
			t.Errorf("%q\n got %q, %v\nwant %q", k.Template, out, err, k.Output)
		case k.Error != "" && e == nil:
			t.Errorf(
				"%q\n got %q\nwant %s in line %d: %s",
				k.Template,
				out,
				k.Error,
				k.Line,
				k.Message,
			)
		case k.Error != "" && (e.Line != k.Line || e.Syntax != (k.Error == "syntax")):
			t.Errorf(
				"%q\n got line %d, syntax %t: %v\nwant %s in line %d: %s",
				k.Template,
				e.Line,
				e.Syntax,
				err,
				k.Error,
				k.Line,
				k.Message,
			)
		}
	}
}

func wanted(template string) bool {
	for _, r := range refusedTemplates {
		if strings.Contains(template, r) {
			return true
		}
	}
	return false
}

func rendered(template string, others map[string]string, vars Variables) (string, error) {
	env := &Environment{Load: func(name string) (string, error) {
		if text, ok := others[name]; ok {
			return text, nil
		}
		return "", os.ErrNotExist
	}}
	tpl, err := env.New("t", template)
	if err != nil {
		return "", err
	}
	return tpl.Render(vars)
}

// variables reads the context, with the order of dictionaries and with ints as ints. Lists and
// dictionaries are those of a template, since those of Python can change.
func variables(t testing.TB, context json.RawMessage) Variables {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(context))
	d.UseNumber()
	v := value(t, d)
	out := Variables{}
	for i, k := range v.(*Dict).keys {
		out[k.(string)] = v.(*Dict).vals[i]
	}
	return out
}

func value(t testing.TB, d *json.Decoder) types.Value {
	t.Helper()
	tok, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch tok := tok.(type) {
	case nil:
		return types.Null{}
	case json.Number:
		if i, ok := new(big.Int).SetString(tok.String(), 10); ok {
			return types.Integer(i)
		}
		f, _ := tok.Float64()
		return f
	case json.Delim:
		if tok == '[' {
			l := newList(nil)
			for d.More() {
				l.items = append(l.items, value(t, d))
			}
			_, _ = d.Token()
			return l
		}
		out := newDict()
		for d.More() {
			k, _ := d.Token()
			_ = out.set(k, value(t, d))
		}
		_, _ = d.Token()
		return out
	}
	return tok
}

// TestHalfCharacters holds that half of a pair of surrogates does not become another text.
func TestHalfCharacters(t *testing.T) {
	for _, template := range []string{`{{ "\ud83d" }}`, `{{ "\ud83d\ude00"|length }}`, `{{ "\U0000dc00" }}`} {
		out, err := rendered(template, nil, nil)
		if err == nil || !strings.Contains(err.Error(), "half of a pair of surrogates") {
			t.Errorf("%s: %q, %v", template, out, err)
		}
	}
	if out, err := rendered(`{{ "\U0001f600\ud7ff\ue000" }}`, nil, nil); err != nil ||
		out != "\U0001f600\ud7ff\ue000" {
		t.Errorf("%q, %v", out, err)
	}
}
