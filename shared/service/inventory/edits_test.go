package inventory_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/service/inventory"
)

// extra is an edit that fills a dict.
const extra = `{"operation":"replace","target":"extra","value":
{"a":{"b":1,"c.d":[1]},"l":[{"n":1,"v":2},{"n":2}]}},
`

// TestEdits does edits.
func TestEdits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, edits string
		has         string // what the attributes have afterwards
		path, want  string // or what is refused
	}{
		{"replace", `{"operation":"replace","target":"port","value":81}`, `"port":81`, "", ""},
		{"two", `{"operation":"replace","target":"port","value":81},
{"operation":"replace","target":"plan","value":"small"}`, `"plan":"small","port":81`, "", ""},
		{"below", `{"operation":"replace","target":"databases[name=a].size","value":9}`,
			`"size":9,"users"`, "", ""},
		{"far below",
			`{"operation":"replace","target":"databases[name=a].users[name=u].shell","value":"sh"}`,
			`"shell":"sh"`, "", ""},
		{"the only member", `{"operation":"merge","target":"cache","value":{"size":7}}`,
			`{"kind":"k","size":7}`, "", ""},
		{"in the only member", `{"operation":"replace","target":"cache.size","value":7}`,
			`"size":7`, "", ""},
		{"a member goes", `{"operation":"remove","target":"databases[name=a]"}`,
			`"databases":[{"host":null,"name":"b"`, "", ""},
		{"all go", `{"operation":"remove","target":"databases"}`, `"databases":[]`, "", ""},
		{"a member comes", `{"operation":"remove","target":"databases[name=a]"},
{"operation":"merge","target":"databases","value":[{"name":"c","size":5}]}`, `"name":"c","size":5`, "", ""},
		{"a member is merged",
			`{"operation":"merge","target":"databases","value":[{"name":"a","size":5}]}`,
			`"name":"a","size":5,"users":[{"name":"u"`, "", ""},
		{"a member is replaced",
			`{"operation":"replace","target":"databases[name=b]","value":{"name":"b","size":6}}`,
			`"name":"b","size":6`, "", ""},
		{"a list", `{"operation":"merge","target":"labels","value":["x","y","x"]}`,
			`"labels":["x","y"]`, "", ""},
		{"an object", `{"operation":"merge","target":"extra","value":{"a":{"b":1}}}`,
			`"extra":{"a":{"b":1}}`, "", ""},
		{"an entry of a dict", extra + `{"operation":"replace","target":"extra.b","value":[3]}`,
			`"extra":{"a":{"b":1,"c.d":[1]},"b":[3],"l":[{"n":1,"v":2},{"n":2}]}`, "", ""},
		{"an entry in a dict that is null", `{"operation":"replace","target":"extra","value":null},
{"operation":"replace","target":"extra.b","value":3}`, `"extra":{"b":3}`, "", ""},
		{"deep in a dict", extra + `{"operation":"replace","target":"extra.a.b","value":{"x":null}}`,
			`"extra":{"a":{"b":{"x":null},"c.d":[1]},"l":`, "", ""},
		{"a new entry deep in a dict", extra + `{"operation":"replace","target":"extra.a.z","value":3}`,
			`"extra":{"a":{"b":1,"c.d":[1],"z":3},"l":`, "", ""},
		{"an entry with a point", extra +
			`{"operation":"merge","target":"extra.a.c\\.d","value":[2,1]}`,
			`"c.d":[1,2]`, "", ""},
		{"entries are merged", extra + `{"operation":"merge","target":"extra.a","value":{"b":5,"e":6}}`,
			`"extra":{"a":{"b":5,"c.d":[1],"e":6},"l":`, "", ""},
		{"an entry goes", extra + `{"operation":"remove","target":"extra.a.b"}`,
			`"extra":{"a":{"c.d":[1]},"l":`, "", ""},
		{"an item in a dict", extra + `{"operation":"replace","target":"extra.l[n=1].v","value":9}`,
			`"l":[{"n":1,"v":9},{"n":2}]`, "", ""},
		{"an item goes", extra + `{"operation":"remove","target":"extra.l[n=1]"}`,
			`"l":[{"n":2}]`, "", ""},
		{"an item is merged", extra + `{"operation":"merge","target":"extra.l[n=2]","value":{"w":0}}`,
			`"l":[{"n":1,"v":2},{"n":2,"w":0}]`, "", ""},
		{"no entry to remove", extra + `{"operation":"remove","target":"extra.z"}`, "", "extra.z",
			"there is no entry z"},
		{"no entry of null", `{"operation":"replace","target":"extra","value":null},
{"operation":"remove","target":"extra.z"}`, "", "extra", "extra is null, and the path goes on"},
		{"no entry to go into", extra + `{"operation":"replace","target":"extra.z.b","value":1}`, "",
			"extra.z", "there is no entry z"},
		{"an entry that is no dict", extra + `{"operation":"replace","target":"extra.a.b.c","value":1}`,
			"", "extra.a.b", "b is a number, and the path goes on"},
		{"a list without keys", extra + `{"operation":"replace","target":"extra.l.v","value":1}`, "",
			"extra.l", "l is a list, and the path goes on"},
		{"keys of a dict", extra + `{"operation":"remove","target":"extra.a[b=1]"}`, "",
			"extra.a[b=1]", "a is an object, and has no items with keys"},
		{"no such item", extra + `{"operation":"remove","target":"extra.l[n=3]"}`, "",
			"extra.l[n=3]", "there is no such item"},
		{"more than one item", `{"operation":"replace","target":"extra","value":{"l":[{"n":1},{"n":1}]}},
{"operation":"remove","target":"extra.l[n=1]"}`, "", "extra.l[n=1]", "there is more than one such item"},
		{"an entry with another operation", extra + `{"operation":"undo","target":"extra.a.b"}`, "",
			"extra.a.b", "is not an operation"},
		{"an entry that cannot be merged", extra +
			`{"operation":"merge","target":"extra.a","value":[1]}`, "", "extra.a", "cannot be merged"},
		{"back to the default", `{"operation":"replace","target":"port","value":81},
{"operation":"remove","target":"port"}`, `"port":80`, "", ""},
		{"relations", `{"operation":"merge","target":"peers","value":["x"]}`, `"peers":["x"]`, "",
			""},
		{"nothing", ``, `"port":80`, "", ""},

		{"no default", `{"operation":"remove","target":"name"}`, "", "name",
			"it has no default, and cannot be null"},
		{"unknown", `{"operation":"replace","target":"prot","value":1}`, "", "prot",
			"there is no attribute prot"},
		{"no such member", `{"operation":"remove","target":"databases[name=z]"}`, "",
			"databases[name=z]",
			"there is no such member"},
		{"which member", `{"operation":"replace","target":"databases.size","value":1}`, "",
			"databases",
			"name the member"},
		{"keys of one", `{"operation":"remove","target":"cache[size=1]"}`, "", "cache",
			"it has no keys"},
		{"beyond an attribute", `{"operation":"replace","target":"name.x","value":1}`, "", "name",
			"the path goes on"},
		{"no operation", `{"edit_id":"e1","operation":"undo","target":"port"}`, "", "port",
			`the edit e1: "undo" is not an operation`},
		{"not to be merged", `{"operation":"merge","target":"port","value":3}`, "", "port",
			"cannot be merged"},
		{"a path", `{"operation":"merge","target":"a[","value":3}`, "", "", `the path "a["`},
		{"a modifier", `{"operation":"replace","target":"name","value":"m"}`, "", "name",
			"it has the modifier rw"},
		{"a key",
			`{"operation":"replace","target":"databases[name=a].users[name=u].name","value":"w"}`,
			"",
			"databases[name=a].users[name=u].name", "it has the modifier rw: it is set once"},
		{"a key of a member that may go",
			`{"operation":"replace","target":"databases[name=a].name","value":"z"}`, "",
			"databases[name=a].name", "it has the modifier rw: it is set once"},
		{"a key, merged", `{"operation":"merge","target":"databases[name=a]","value":{"name":"z"}}`,
			"", "databases[name=a].name", "it has the modifier rw: it is set once"},
		{"the same key", `{"operation":"merge","target":"databases[name=a]","value":
{"name":"a","size":9}}`, `{"host":null,"name":"a","size":9,"users":[{"name":"u","shell":null}]}`,
			"", ""},
		{"another member in its place",
			`{"operation":"replace","target":"databases[name=a]","value":{"name":"z","size":9}}`,
			`{"host":null,"name":"z","size":9,"users":[]}`, "", ""},
		{"a value", `{"operation":"replace","target":"port","value":"x"}`, "", "port",
			"and not int"},
		{"all or nothing", `{"operation":"replace","target":"port","value":81},
{"operation":"replace","target":"port","value":0}`, "", "port", "0 is not greater than 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := site(true)
			is := instance(t, s)
			before := shown(is)
			var edits []inventory.Edit
			d := json.NewDecoder(strings.NewReader("[" + test.edits + "]"))
			d.UseNumber()
			if err := d.Decode(&edits); err != nil {
				t.Fatal(err)
			}
			out, err := inventory.Edited(s, is, edits)
			if shown(is) != before {
				t.Error("the attributes were changed in place")
			}
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) ||
					test.path != "" && !strings.Contains(err.Error(), test.path) || out != nil {
					t.Errorf("the error is %v, the result %v", err, out)
				}
				return
			}
			if err != nil || !strings.Contains(shown(out), test.has) {
				t.Errorf("%v, %s", err, shown(out))
			}
		})
	}
}

// TestPaths reads paths.
func TestPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a":                            "a",
		"a.b[c=d].e":                   "a.b[c=d].e",
		"a[b=c;d=]":                    "a[b=c;d=]",
		`a[b=x\]\.\;\=y\\]`:            `a[b=x\].\;=y\\]`,
		"a[b=www.example;c=1=1.5].d.e": "a[b=www.example;c=1=1.5].d.e",
		"a[b=x[1]":                     "there is no ] behind the keys of a; write \\ before",
		"":                             `the path "": a name is missing before ""`,
		"a..b":                         `a name is missing before ".b"`,
		"a[b]":                         "b has no value",
		"a[b=c":                        "there is no ] behind the keys of a",
		"a[b=c]d":                      `there is no . before "d"`,
		"a[b=1;b=2]":                   "b is there twice",
		"a[b=1][b=2]":                  "b is there twice",
		"a[b=c][d=e].f":                "a[b=c;d=e].f",
		"a[b=c][":                      `the name of a key is missing before ""`,
		`a[b=\*].\*c`:                  "a[b=*].*c",
		`a\b`:                          `there is a \ before a character that needs none`,
		"a]":                           `there is no . before "]"`,
	} {
		p, err := inventory.ParsePath(text)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if p.String() != want {
			t.Errorf("%s is %s", text, p)
		}
	}
}

// FuzzPath holds that a path that is written is read as it was.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a", "a.b[c=d].e", `a[b=x\]y;c=]`, "a[", `\`, "[=]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := inventory.ParsePath(text)
		if err != nil {
			return
		}
		again, err := inventory.ParsePath(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%q is %#v, and then %#v, %v", text, p, again, err)
		}
	})
}

// TestRandomEdits holds what is true of all edits: what is accepted is an order that the definition
// takes, what only the model sets and what is set once stay, and nothing is changed in place.
func TestRandomEdits(t *testing.T) {
	t.Parallel()
	targets := []string{
		"name", "ip", "port", "plan", "labels", "extra", "extra.size", "extra.a.b", "extra.l[name=a]",
		"extra.users[name=u].shell", "cache", "cache.size", "cache.kind",
		"databases",
		"databases[name=a]", "databases[name=a].size", "databases[name=a].host",
		"databases[name=b].users",
		"databases[name=a].users[name=u]", "databases[name=a].users[name=u].shell", "found",
		"owner", "peers",
	}
	values := []string{
		`null`, `1`, `81`, `"x"`, `"small"`, `"n"`, `[]`, `["x"]`, `{}`, `{"size": 4}`,
		`{"name": "a", "size": 3}`,
		`[{"name": "a"}]`, `[{"name": "c", "size": 1}]`, `[{"name": "a", "size": 1, "users": []}]`,
		`{"name": "z", "size": 1}`, `{"size": 3, "kind": "k"}`,
		`{"a": {"b": 1}, "l": [{"name": "a"}], "users": [{"name": "u"}]}`, `[{"id": 3}]`, `true`,
	}
	operations := []inventory.Operation{inventory.Replace, inventory.Merge, inventory.Remove}
	accepted := 0
	for seed := range uint64(6000) {
		r := rand.New(rand.NewPCG(seed, 3)) // not a secret
		s := site(r.IntN(2) == 0)
		is := instance(t, s)
		before := shown(is)
		var edits []inventory.Edit
		for range 1 + r.IntN(3) {
			var v any
			if err := json.Unmarshal([]byte(values[r.IntN(len(values))]), &v); err != nil {
				t.Fatal(err)
			}
			edits = append(edits, inventory.Edit{
				Operation: operations[r.IntN(len(operations))],
				Target:    targets[r.IntN(len(targets))], Value: v,
			})
		}
		out, err := inventory.Edited(s, is, edits)
		if shown(is) != before {
			t.Fatalf("seed %d changes in place: %s", seed, shown(edits))
		}
		if err != nil {
			continue
		}
		accepted++
		again, err := inventory.Changed(s, out, out)
		if err != nil || shown(again) != shown(out) {
			t.Fatalf(
				"seed %d: %s leads to %s, which is refused: %v",
				seed,
				shown(edits),
				shown(out),
				err,
			)
		}
		for _, name := range []string{"name", "ip", "owner", "found"} {
			if fmt.Sprint(out[name]) != fmt.Sprint(is[name]) {
				t.Fatalf("seed %d: %s changes %s", seed, shown(edits), name)
			}
		}
	}
	if accepted < 500 {
		t.Errorf("only %d were accepted", accepted)
	}
}
