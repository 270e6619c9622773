package project_test

import (
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
)

// TestTypeHints holds that names of types in other languages, and ones that are misspelt, are
// answered with those of this one.
func TestTypeHints(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{
		"str": "string?", "boolean": "bool?", "integer": "int?", "double": "float?",
		"array": "string[]?", "map": "dict?", "any": "only parameters of plugins are of any",
		"strin": "string?", "flaot": "float?", "dcit": "dict?",
	} {
		c := testCase{Std: true, Model: "entity Disk:\n    " + typ + " label\nend\n"}
		dir := t.TempDir()
		c.write(t, dir)
		p, err := project.Load(dir, project.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = eval.Run(t.Context(), eval.Program{Sources: p.Sources})
		found, _ := diag.Of(err)
		if len(found) != 1 || found[0].Message != "there is no "+typ || found[0].Pos.Line != 2 ||
			!strings.HasSuffix(found[0].Hint, want) {
			t.Errorf("%s: %+v, want a hint that ends with %q", typ, found, want)
		}
	}
}
