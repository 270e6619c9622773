package project_test

import (
	"testing"
)

// TestLoops runs loops over dicts and over the values of types; each model asserts its result.
func TestLoops(t *testing.T) {
	t.Parallel()
	const types = "typedef color as string matching self in [\"red\", \"green\"]\n" +
		"typedef warm as color matching self == \"red\" or self == \"blue\"\n"
	for _, c := range []struct{ why, model string }{
		{"keys", `std::assert([k for k in {"a": 1, "b": 2}] == ["a", "b"])`},
		{"items", `std::assert([v for k, v in {"a": 1, "b": [2, 3]} if k != "a"] == [2, 3])`},
		{"an empty dict", `std::assert([k for k in {}] == [])`},
		{
			"dicts in a list stay whole",
			`std::assert([d["p"] for d in [{"p": 1}, {"p": 2}]] == [1, 2])`,
		},
		{
			"dicts of a comprehension stay whole",
			"dicts = [{\"p\": 1}]\nstd::assert([e == {\"p\": 1} for e in [f for f in dicts]] == [true])",
		},
		{
			"keys of each dict of a list", "dicts = [{\"p\": 1}, {\"q\": 2}]\n" +
				`std::assert([k for d in dicts for k in d] == ["p", "q"])`,
		},
		{
			"items of each dict of a list", "dicts = [{\"p\": 1}, {\"q\": 2}]\n" +
				`std::assert([k for d in dicts for k, v in d if v == 2] == ["q"])`,
		},
		{"a chosen dict", `std::assert([k for k in true ? {"a": 1} : {}] == ["a"])`},
		{"values of a type", types + `std::assert([c for c in color] == ["red", "green"])`},
		{
			"values that the base accepts as well",
			types + `std::assert([c for c in warm] == ["red"])`,
		},
		{
			"a variable with the name of a type",
			types + "color = [\"blue\"]\nstd::assert([c for c in color] == [\"blue\"])",
		},
		{
			"an attribute with the name of a type", types + "entity A:\n    string[] color = [\"x\"]\n" +
				"    string[] seen\nend\nimplementation i for A:\n" +
				"    self.seen = [c for c in color]\nend\nimplement A using i\n" +
				"a = A()\nstd::assert(a.seen == [\"x\"])",
		},
		{
			"a for that fills a relation", types + "entity A:\n    dict tags = {\"a\": 1}\nend\n" +
				"entity B:\n    string name\nend\nA.bs [0:] -- B\nimplement B using std::none\n" +
				"implementation i for A:\n    for k, v in self.tags:\n" +
				"        self.bs += B(name=\"{{ k }}{{ v }}\")\n    end\n    for c in color:\n" +
				"        self.bs += B(name=c)\n    end\n    for k in tags:\n" +
				"        self.bs += B(name=k)\n    end\nend\nimplement A using i\n" +
				"a = A()\nstd::assert(std::len(a.bs) == 4)",
		},
		{
			"an unknown dict", "for k, v in std::get_env(\"NO_SUCH_VARIABLE\"):\n" +
				"    std::assert(false)\nend",
		},
		{
			"the condition of a type", "typedef d as string matching [k + \"!\" for k, v in " +
				"{\"a\": \"b\"} if v == self] == [\"a!\"]\nentity A:\n    d x\nend\n" +
				"implement A using std::none\nA(x=\"b\")",
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			if got := told(t, c.model+"\n"); got != "" {
				t.Errorf("%s\nit says\n%s", c.model, got)
			}
		})
	}
}
