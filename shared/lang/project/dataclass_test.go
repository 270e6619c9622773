package project_test

import (
	"slices"
	"strconv"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
	"southbound/shared/lang/std"
)

// TestDataclasses holds that an entity with a class in Python has the attributes that this has, and
// nothing that it cannot have.
func TestDataclasses(t *testing.T) {
	t.Parallel()
	const point = "entity Point extends std::Dataclass:\n    int x\nend\n" +
		"implement Point using std::none\n"
	for why, c := range map[string]struct {
		model  string
		fields []string
		want   []string // line and message
	}{
		"the same":  {point, []string{"x"}, nil},
		"not known": {point, nil, nil},
		"another field": {point, []string{"x", "y"},
			[]string{"1 the class of Point in Python has the field y, and the entity has no such " +
				"attribute"}},
		"no field": {point, []string{}, []string{"2 the class of Point in Python has no field x"}},
		"a relation": {
			point + "entity Host:\nend\nPoint.host [1] -- Host\n", []string{"x"},
			[]string{"7 Point has a class in Python, so it cannot have a relation: this is host"},
		},
		"an implementation": {
			point + "implementation more for Point:\nend\nimplement Point using more\n",
			[]string{"x"},
			[]string{"7 Point has a class in Python, so std::none is its only implementation: " +
				"this is more"},
		},
		"an index": {
			point + "index Point(x)\n", []string{"x"},
			[]string{"1 Point has a class in Python, so it cannot have an index"},
		},
		"an inherited attribute": {
			"entity Base:\n    int y\nend\nentity Point extends Base, std::Dataclass:\n" +
				"    int x\nend\n" +
				"implement Point using std::none\n",
			[]string{"x"},
			[]string{"2 the class of Point in Python has no field y"},
		},
	} {
		m := testCase{Model: c.model, Std: true}
		dir := t.TempDir()
		m.write(t, dir)
		p, err := project.Load(dir, project.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = eval.Run(t.Context(), eval.Program{
			Sources: p.Sources, Plugins: std.Plugins(),
			Dataclasses: []eval.Dataclass{{Entity: "__config__::Point", Fields: c.fields}},
		})
		found, _ := diag.Of(err)
		var have []string
		for _, f := range found {
			have = append(have, strconv.Itoa(f.Pos.Line)+" "+f.Message)
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("%s:\n%q, want\n%q", why, have, c.want)
		}
	}
}
