package inventory_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// numbers is a service with numbers of each type, of its own and in members.
func numbers() *definition.Service {
	at := func(name, kind string) definition.Attribute {
		return definition.Attribute{Name: name, Type: kind, Modifier: definition.ReadWrite}
	}
	def := at("f", "float")
	def.Default, def.DefaultSet = json.Number("1"), true
	told := at("told", "float?")
	told.Modifier = definition.ReadOnly
	toldInt := at("told_int", "int?")
	toldInt.Modifier = definition.ReadOnly
	w := at("w", "float")
	w.Default, w.DefaultSet = 3.0, true
	key := at("k", "string")
	key.Modifier = definition.Once
	return &definition.Service{
		Name: "numbers", Strict: true,
		Part: definition.Part{
			Attributes: []definition.Attribute{
				def, told, toldInt, at("fs", "float[]?"), at("n", "number?"), at("opts", "dict?"),
				at("i", "int?"),
			},
			Embedded: []definition.Embedded{{
				Name: "es", Modifier: definition.ReadWrite, Limits: definition.Limits{},
				Part: definition.Part{
					KeyAttributes: []string{"k"}, Attributes: []definition.Attribute{key, w},
				},
			}},
		},
	}
}

// TestNumbersStayWhatTheyAre holds that numbers are stored as the types of their attributes have
// them: a model takes no int for a float, and JSON writes a float that is whole as one only if it
// is told to. Whole numbers keep all their digits.
func TestNumbersStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := numbers()
	for given, want := range map[string]string{
		`{}`:                                    `"f":1.0,`,
		`{"f": 2}`:                              `"f":2.0,`,
		`{"f": 2.0}`:                            `"f":2.0,`,
		`{"f": 1e3}`:                            `"f":1000.0,`,
		`{"f": -0.0}`:                           `"f":-0.0,`,
		`{"f": 1e21}`:                           `"f":1e+21,`,
		`{"f": 2.5}`:                            `"f":2.5,`,
		`{"f": 123456789012345678901234567890}`: `"f":1.2345678901234568e+29,`,
		`{"fs": [1, 2.5, 3e0]}`:                 `"fs":[1.0,2.5,3.0]`,
		`{"es": [{"k": "a"}]}`:                  `"es":[{"k":"a","w":3.0}]`,
		`{"es": [{"k": "a", "w": 4}]}`:          `"es":[{"k":"a","w":4.0}]`,
		`{"n": 2}`:                              `"n":2,`,
		`{"n": 2.0}`:                            `"n":2.0,`,
		`{"n": 12345678901234567890123}`:        `"n":12345678901234567890123,`,
		`{"i": 2.0}`:                            `"i":2,`,
		`{"opts": {"a": [1, 1.0, {"b": 12345678901234567890123}]}}`: `"opts":` +
			`{"a":[1,1.0,{"b":12345678901234567890123}]}`,
	} {
		is, err := inventory.Ordered(s, object(t, given))
		if err != nil || !strings.Contains(shown(is), want) {
			t.Errorf("%s: %v, %s", given, err, shown(is))
			continue
		}
		// another change leaves it, and so does the way through a store
		after, err := inventory.Changed(s, object(t, shown(is)), object(t, `{}`))
		if err != nil || !strings.Contains(shown(after), want) {
			t.Errorf("%s, again: %v, %s", given, err, shown(after))
		}
		edits := []inventory.Edit{{Operation: inventory.Replace, Target: "es", Value: []any{}}}
		after, err = inventory.Edited(s, object(t, shown(is)), edits)
		if err != nil || !strings.Contains(want, "es") && !strings.Contains(shown(after), want) {
			t.Errorf("%s, after an edit: %v, %s", given, err, shown(after))
		}
	}
	for _, given := range []string{
		`{"opts": {"a": [{"b": 1e400}]}}`, `{"n": 1e400}`, `{"f": 1e400}`, `{"fs": [1e400]}`,
		`{"opts": {"b": ` + strings.Repeat("9", 400) + `}}`,
	} {
		_, err := inventory.Ordered(s, object(t, given))
		name := strings.SplitN(given, `"`, 3)[1]
		told(t, err, name, inventory.CodeType, "is too large to be stored")
	}
}

// TestNumbersInPaths holds that a key which is a number is named as it is shown, and as it is given.
func TestNumbersInPaths(t *testing.T) {
	t.Parallel()
	s := numbers()
	s.Embedded[0].Attributes[0].Type = "float"
	is, err := inventory.Ordered(s, object(t, `{"es": [{"k": 2}, {"k": 2.5}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"es[k=2]": `{"k":2.0,"w":9.0}`, "es[k=2.0]": `{"k":2.0,"w":9.0}`,
		"es[k=2.5]": `{"k":2.5,"w":9.0}`,
	} {
		out, err := inventory.Edited(s, is, []inventory.Edit{
			{Operation: inventory.Replace, Target: path + ".w", Value: json.Number("9")},
		})
		if err != nil || !strings.Contains(shown(out), want) {
			t.Errorf("%s: %v, %s", path, err, shown(out))
		}
	}
}

// TestNumbersOfBefore holds that what was stored when floats were written as whole numbers reaches
// models as floats.
func TestNumbersOfBefore(t *testing.T) {
	t.Parallel()
	s := numbers()
	was := object(t, `{"f": 2, "fs": [1], "es": [{"k": "a", "w": 4}], "opts": {"a": 1}, "gone": 3}`)
	const want = `{"es":[{"k":"a","w":4.0}],"f":2.0,"fs":[1.0],"gone":3,"opts":{"a":1}}`
	if got := shown(inventory.Typed(&s.Part, was)); got != want {
		t.Error(got)
	}
	out, err := inventory.Told(s, was, "told", 5.0)
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Error("an attribute that is not there is taken", out)
	}
	delete(was, "gone")
	big, _ := new(big.Int).SetString("12345678901234567890123", 10)
	_, err = inventory.Told(s, was, "told_int", big)
	told(t, err, "told_int", inventory.CodeType, "12345678901234567890123 is too large")
	out, err = inventory.Told(s, was, "told", big)
	if err != nil || !strings.Contains(shown(out), `"told":1.2345678901234568e+22`) {
		t.Error(err, shown(out))
	}
	out, err = inventory.Told(s, was, "told", 5.0)
	if err != nil || !strings.Contains(shown(out), `"told":5.0`) ||
		!strings.Contains(shown(out), `"w":4.0`) {
		t.Error(err, shown(out))
	}
}
