package handlers

import (
	"strings"
	"testing"

	"southbound/shared/schema"
)

// TestBooleanWordsAreNoText pins that an attribute that takes a Boolean or text refuses the words
// that YAML 1.1 reads as Booleans: here they are text, and would silently mean the opposite.
func TestBooleanWordsAreNoText(t *testing.T) {
	found, required := 0, map[string]string{"path": "/x", "name": "n", "line": "l", "setting": "k",
		"value": "v"}
	for _, d := range All() {
		reg, err := schema.NewRegistry(d.Type)
		if err != nil {
			t.Fatal(err)
		}
		typ, _ := reg.Type(d.Type.Name)
		problemsOf := func(name string, value any) (n int) {
			attrs := map[string]any{}
			for _, a := range d.Type.Attributes {
				if v := required[a.Name]; v != "" {
					attrs[a.Name] = v
				}
			}
			attrs[name] = value
			_, problems := typ.Check(attrs)
			for _, p := range problems {
				if p.Attribute == name {
					n++
				}
			}
			return n
		}
		for _, a := range d.Type.Attributes {
			if !strings.Contains(a.Type, "Boolean") || problemsOf(a.Name, true) > 0 ||
				problemsOf(a.Name, ".other") > 0 {
				continue // it does not take both
			}
			found++
			for _, word := range []string{"yes", "no", "on", "off", "Y", "n", "NO", "Off", "true",
				"FALSE"} {
				if problemsOf(a.Name, word) == 0 {
					t.Errorf("%s takes the text %q for %s", d.Type.Name, word, a.Name)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d attributes take a Boolean or text: the test looks at the wrong ones", found)
	}
}
