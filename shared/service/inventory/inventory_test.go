package inventory_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

func ptr[T any](v T) *T { return &v }

// site is a service with attributes, parts and relations of each modifier.
func site(strict bool) *definition.Service {
	at := func(name, kind string, m definition.Modifier) definition.Attribute {
		return definition.Attribute{Name: name, Type: kind, Modifier: m}
	}
	port := at("port", "int", "rw+")
	port.Default, port.DefaultSet = 80, true
	port.ValidationType, port.ValidationParam = ptr("pydantic.conint"), map[string]any{
		"gt": 0,
		"lt": 65536,
	}
	plan := at("plan", "string?", "rw+")
	plan.ValidationType = ptr("enum?")
	plan.ValidationParam = map[string]any{"values": []any{"small", "large"}}
	label := at("labels", "string[]", "rw+")
	label.Default, label.DefaultSet = []any{}, true
	label.ValidationType, label.ValidationParam = ptr("pydantic.constr[]"), map[string]any{
		"regex": "[a-z]+$",
	}
	user := definition.Embedded{
		Name: "users", Modifier: "rw", Limits: definition.Limits{},
		Part: definition.Part{
			KeyAttributes: []string{"name"},
			Attributes: []definition.Attribute{
				at("name", "string", "rw"),
				at("shell", "string?", "rw+"),
			},
		},
	}
	return &definition.Service{
		Name: "site", Strict: strict,
		Part: definition.Part{
			Attributes: []definition.Attribute{
				at("name", "string", "rw"), at("ip", "string", "r"), port, plan, label,
				at("ratio", "float?", "rw+"), at("extra", "dict?", "rw+"),
				at("tls", "bool?", "rw+"),
			},
			Embedded: []definition.Embedded{
				{
					Name: "databases", Modifier: "rw+", Limits: definition.Limits{Upper: ptr(2)},
					Part: definition.Part{
						KeyAttributes: []string{"name"},
						Attributes: []definition.Attribute{
							at("name", "string", "rw"), at("size", "int", "rw+"),
							at("host", "string", "r"),
						},
						Embedded: []definition.Embedded{user},
					},
				},
				{
					Name: "cache", Modifier: "rw", Limits: definition.Limits{Upper: ptr(1)},
					Part: definition.Part{
						Attributes: []definition.Attribute{
							at("size", "int", "rw+"),
							at("kind", "string", "rw"),
						},
					},
				},
				{
					Name: "proxy", Modifier: "rw+", Limits: definition.Limits{Upper: ptr(1)},
					Part: definition.Part{
						KeyAttributes: []string{"name"},
						Attributes: []definition.Attribute{
							at("name", "string", "rw"),
							at("id", "int", "r"),
						},
					},
				},
				{
					Name: "found", Modifier: "r", Limits: definition.Limits{},
					Part: definition.Part{
						KeyAttributes: []string{"id"},
						Attributes:    []definition.Attribute{at("id", "int", "r")},
					},
				},
			},
			Relations: []definition.Relation{
				{
					Name:     "owner",
					Modifier: "rw",
					Service:  "customer",
					Limits:   definition.Limits{Lower: 1, Upper: ptr(1)},
				},
				{Name: "peers", Modifier: "rw+", Service: "site", Limits: definition.Limits{}},
			},
		},
	}
}

// object reads an object of JSON as the API does.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

const (
	order = `{"name": "n", "owner": "o", "databases": [
  {"name": "a", "size": 1, "users": [{"name": "u"}]}, {"name": "b", "size": 2}],
 "cache": {"size": 3, "kind": "k"}}`
	ordered = `{"cache":{"kind":"k","size":3},"databases":[` +
		`{"host":null,"name":"a","size":1,"users":[{"name":"u","shell":null}]},` +
		`{"host":null,"name":"b","size":2,"users":[]}],"extra":null,"found":[],"ip":null,"labels":[],` +
		`"name":"n","owner":"o","peers":[],"plan":null,"port":80,"proxy":null,"ratio":null,"tls":null}`
)

// instance returns the attributes of an order.
func instance(t testing.TB, s *definition.Service) map[string]any {
	t.Helper()
	out, err := inventory.Ordered(s, object(t, order))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOrdered fills in what an order leaves out.
func TestOrdered(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{true, false} {
		got := instance(t, site(strict))
		if d := cmp.Diff(ordered, shown(got)); d != "" {
			t.Error(d)
		}
		again, err := inventory.Changed(site(strict), got, object(t, shown(got)))
		if err != nil || shown(again) != ordered {
			t.Errorf("giving the same again: %v, %s", err, shown(again))
		}
	}
}

// told holds that a problem has a path, a code and a message.
func told(t *testing.T, err error, path, code, want string) {
	t.Helper()
	var problems diag.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("it is not refused: %v", err)
	}
	var said []string
	for _, p := range problems {
		if p.Attribute == path && p.Code == code && strings.Contains(p.Message, want) {
			return
		}
		said = append(said, p.Attribute+" "+p.Code+" "+p.Message)
	}
	t.Errorf("it says %q, and not %s %s %s", said, path, code, want)
}

// TestBadOrders holds each rule of values, with the path of what breaks it.
func TestBadOrders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, from, to, path, code, want string }{
		{"unknown", `"owner"`, `"size": 1, "owner"`, "size", inventory.CodeUnknown,
			"no such attribute"},
		{"missing", `"name": "n", `, ``, "name", inventory.CodeMissing, "it is missing"},
		{"missing below", `"size": 1, `, ``, "databases[name=a].size", inventory.CodeMissing,
			"it is missing"},
		{"a key that is missing", `"name": "b", `, ``, "databases.name", inventory.CodeMissing,
			"item 2 of 2: it is missing"},
		{"a key that is null", `"name": "b"`, `"name": null`, "databases[name=null].name",
			inventory.CodeType, "it is null, and not string"},
		{"no relation", `"owner": "o", `, ``, "owner", inventory.CodeMissing, "it is missing"},
		{"a wrong type", `"n"`, `7`, "name", inventory.CodeType, "it is a number, and not string"},
		{"null", `"n"`, `null`, "name", inventory.CodeType, "it is null, and not string"},
		{"a fraction", `"size": 1`, `"size": 7.5`, "databases[name=a].size", inventory.CodeType,
			"7.5 is not a whole number"},
		{"23 digits", `"size": 1`, `"size": 12345678901234567890123`, "databases[name=a].size",
			inventory.CodeType, "12345678901234567890123 is too large to be stored"},
		{"500 digits", `"size": 1`, `"size": ` + strings.Repeat("7", 500), "databases[name=a].size",
			inventory.CodeType, "7777777… is too large to be stored"},
		{"not all digits", `"size": 1`, `"size": 1e17`, "databases[name=a].size",
			inventory.CodeType, "1e17 may not be exact"},
		{"far too large a fraction", `"owner"`, `"ratio": 1e400, "owner"`, "ratio",
			inventory.CodeType, "1e400 is too large to be stored"},
		{"a bool is not an int", `"size": 1`, `"size": true`, "databases[name=a].size",
			inventory.CodeType,
			"it is a boolean, and not int"},
		{"far too large", `"size": 1`, `"size": 1e400`, "databases[name=a].size",
			inventory.CodeType, "1e400 is too large to be stored"},
		{"not a list", `"owner"`, `"labels": "x", "owner"`, "labels", inventory.CodeType,
			"and not a list"},
		{"an item", `"owner"`, `"labels": ["x", 1], "owner"`, "labels", inventory.CodeType,
			"item 2 of 2: it is a number, and not string"},
		{"not a list of members", `"cache"`, `"found": 3, "cache"`, "found", inventory.CodeType,
			"and not a list"},
		{"a member", `{"name": "u"}`, `"u"`, "databases[name=a].users", inventory.CodeType,
			"item 1 of 1 is a string"},
		{"not an object", `{"size": 3, "kind": "k"}`, `[]`, "cache", inventory.CodeType,
			"it is a list"},
		{"a relation", `"owner": "o"`, `"owner": 3`, "owner", inventory.CodeType,
			"and not a string"},
		{"relations", `"owner"`, `"peers": [3], "owner"`, "peers", inventory.CodeType,
			"item 1 of 1 is a number"},
		{"relations that are not a list", `"owner"`, `"peers": "x", "owner"`, "peers",
			inventory.CodeType,
			"and not a list"},
		{"a relation twice", `"owner"`, `"peers": ["x", "x"], "owner"`, "peers",
			inventory.CodeMembers, "twice"},
		{"out of range", `"owner"`, `"port": 65536, "owner"`, "port", inventory.CodeValue,
			"65536 is not less than 65536"},
		{"below the range", `"owner"`, `"port": 0, "owner"`, "port", inventory.CodeValue,
			"0 is not greater than 0"},
		{"not a choice", `"owner"`, `"plan": "huge", "owner"`, "plan", inventory.CodeValue,
			"huge is none of small, large"},
		{"a regular expression", `"owner"`, `"labels": ["A"], "owner"`, "labels",
			inventory.CodeValue, "item 1 of 1: it does not match"},
		{"the model's", `"owner"`, `"ip": "x", "owner"`, "ip", inventory.CodeModifier,
			"the model sets it"},
		{"the model's members", `"owner"`, `"found": [{"id": 1}], "owner"`, "found",
			inventory.CodeModifier,
			"the model sets it"},
		{"the model's, below", `"size": 1`, `"size": 1, "host": "h"`, "databases[name=a].host",
			inventory.CodeModifier, "the model sets it"},
		{"a key twice", `"name": "b"`, `"name": "a"`, "databases[name=a]", inventory.CodeMembers,
			"two members"},
		{"too many", `"size": 2}`, `"size": 2}, {"name": "c", "size": 4}`, "databases",
			inventory.CodeMembers,
			"it has 3 members"},
		{"too large", `"n"`, `"` + strings.Repeat("n", 1<<20) + `"`, "name", inventory.CodeTooLarge,
			"which may have 98304"},
		{"nested too deeply", `"n"`, strings.Repeat("[", 101) + strings.Repeat("]", 101), "name",
			inventory.CodeTooLarge, "it has more than 100 lists and maps within each other"},
		{"nested as deeply as may be", `"n"`, strings.Repeat("[", 100) + strings.Repeat("]", 100),
			"name", inventory.CodeType, "it is a list"},
	} {
		_, err := inventory.Ordered(
			site(true),
			object(t, strings.Replace(order, test.from, test.to, 1)),
		)
		t.Run(test.name, func(t *testing.T) { told(t, err, test.path, test.code, test.want) })
	}
}

// TestModifiers holds who may change what, with strict modifiers and without.
func TestModifiers(t *testing.T) {
	t.Parallel()
	const both = `"databases": [{"name": "a", "size": 1, "users": [{"name": "u"}]}, {"name": "b", "size": 2}]`
	for _, test := range []struct {
		name, change string
		strict       bool
		path, want   string // what is refused; "" for nothing
	}{
		{"what may change",
			`{"port": 81, "plan": "small", "ratio": 2, "labels": ["x"], "tls": true}`, true, "",
			""},
		{"the same", `{"name": "n", "ip": null, "port": 80.0}`, true, "", ""},
		{"set once", `{"name": "m"}`, true, "name",
			"it would change, and it has the modifier rw: it is set once"},
		{"the model's", `{"ip": "x"}`, true, "ip", "the model sets it"},
		{"a relation", `{"owner": "p"}`, true, "owner",
			"it would lead elsewhere, and it has the modifier rw"},
		{"relations", `{"peers": ["x"]}`, true, "", ""},
		{"a member goes and one comes", `{"databases": [{"name": "b"}, {"name": "c", "size": 4}]}`,
			true, "", ""},
		{"a member changes", `{"databases": [{"name": "a", "size": 9}, {"name": "b"}]}`, true, "",
			""},
		{"in another order", `{"databases": [{"name": "b"}, {"name": "a"}]}`, true, "", ""},
		{"a member below goes", `{` + strings.Replace(both, `{"name": "u"}`, ``, 1) + `}`, true,
			"databases[name=a].users[name=u]", "it would be removed, and it has the modifier rw"},
		{"a member below comes", `{` + strings.Replace(both, `{"name": "u"}`,
			`{"name": "u"}, {"name": "v"}`, 1) + `}`,
			true, "databases[name=a].users[name=v]", "it would be added"},
		{"a member below changes", `{` + strings.Replace(both, `"u"`, `"u", "shell": "sh"`,
			1) + `}`, true, "", ""},
		{"the only member changes", `{"cache": {"size": 4}}`, true, "", ""},
		{"the only member, what is set once", `{"cache": {"size": 3, "kind": "l"}}`, true,
			"cache.kind", "it would change"},
		{"the only member goes", `{"cache": null}`, true, "cache",
			"it would be removed, and it has the modifier rw"},
		{"not strict: all below rw+", `{"databases": [{"name": "a", "size": 1, "host": "h"}]}`,
			false, "", ""},
		{"not strict: nothing below rw", `{"cache": {"size": 4}}`, false, "cache",
			"it would change"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := site(test.strict)
			is := instance(t, s)
			before := shown(is)
			out, err := inventory.Changed(s, is, object(t, test.change))
			if shown(is) != before {
				t.Error("the attributes were changed in place")
			}
			if test.want != "" {
				told(t, err, test.path, inventory.CodeModifier, test.want)
				return
			}
			if err != nil || out == nil {
				t.Error(err)
			}
		})
	}
}

// TestTold has the model set what is its own, and nothing else.
func TestTold(t *testing.T) {
	t.Parallel()
	s := site(true)
	is := instance(t, s)
	for _, path := range []string{"ip", "databases[name=b].host"} {
		out, err := inventory.Told(s, is, path, "h")
		if err != nil || !strings.Contains(shown(out), `"h"`) {
			t.Errorf("%s: %v, %s", path, err, shown(out))
			continue
		}
		// a customer's change leaves it
		after, err := inventory.Changed(s, out, object(t,
			`{"databases": [{"name": "b", "size": 5}, {"name": "a"}]}`))
		if err != nil || !strings.Contains(shown(after), `"h"`) {
			t.Errorf("%s: %v, %s", path, err, shown(after))
		}
		if err := inventory.Allowed(s, is, out, inventory.Promotion); err != nil {
			t.Error(err)
		}
	}
	out, err := inventory.Told(s, is, "found", []any{map[string]any{"id": 3}})
	if err != nil || !strings.Contains(shown(out), `"found":[{"id":3}]`) {
		t.Errorf("%v, %s", err, shown(out))
	}
	for _, path := range []string{"name", "port", "databases[name=b].size"} {
		_, err := inventory.Told(s, is, path, 7)
		if path == "name" {
			_, err = inventory.Told(s, is, path, "x")
		}
		told(t, err, path, inventory.CodeModifier, "customers set it, and not the model")
	}
	changed, err := inventory.Told(s, is, "ip", 3)
	told(t, err, "ip", inventory.CodeType, "and not string")
	if changed != nil {
		t.Error("there is a result")
	}
}

// TestAnotherMember holds that a member that takes the place of another one begins anew.
func TestAnotherMember(t *testing.T) {
	t.Parallel()
	s := site(true)
	is, err := inventory.Changed(s, instance(t, s), object(t, `{"proxy": {"name": "a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if is, err = inventory.Told(s, is, "proxy.id", 7); err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]string{
		`{"proxy": {"name": "a"}}`: `"proxy":{"id":7,"name":"a"}`,
		`{"proxy": {"name": "b"}}`: `"proxy":{"id":null,"name":"b"}`,
		`{"port": 1}`:              `"proxy":{"id":7,"name":"a"}`,
	} {
		out, err := inventory.Changed(s, is, object(t, change))
		if err != nil || !strings.Contains(shown(out), want) {
			t.Errorf("%s: %v, %s", change, err, shown(out))
		}
	}
}

// TestKeyOfOne holds that a path does not give the member of a relation to one another key, as it
// would keep what the model has said of the one before.
func TestKeyOfOne(t *testing.T) {
	t.Parallel()
	s := site(true)
	is, err := inventory.Changed(s, instance(t, s), object(t, `{"proxy": {"name": "a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []inventory.Edit{
		{Operation: inventory.Replace, Target: "proxy.name", Value: "b"},
		{Operation: inventory.Merge, Target: "proxy", Value: map[string]any{"name": "b"}},
	} {
		_, err := inventory.Edited(s, is, []inventory.Edit{e})
		told(t, err, "proxy.name", inventory.CodeModifier, "it is set once")
	}
	_, err = inventory.Edited(s, is, []inventory.Edit{
		{Operation: inventory.Replace, Target: "proxy", Value: map[string]any{"name": "b"}},
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPromotion refuses to promote what is set once.
func TestPromotion(t *testing.T) {
	t.Parallel()
	s := site(true)
	is := instance(t, s)
	other := instance(t, s)
	other["name"], other["port"], other["ip"] = "m", int64(7), "x"
	told(
		t,
		inventory.Allowed(s, is, other, inventory.Promotion),
		"name",
		inventory.CodeModifier,
		"rw",
	)
	if err := inventory.Allowed(s, nil, other, inventory.Promotion); err != nil {
		t.Error(err)
	}
}
