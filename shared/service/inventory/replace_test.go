package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// replaceable is a service with an attribute, a relation and members of each modifier.
func replaceable(strict bool) *definition.Service {
	attribute := func(name, kind string, m definition.Modifier, set bool, v any) definition.Attribute {
		return definition.Attribute{
			Name: name, Type: kind, Modifier: m, DefaultSet: set, Default: v,
		}
	}
	part := func() definition.Part {
		return definition.Part{Attributes: []definition.Attribute{
			attribute("key", "string", definition.Once, false, nil),
			attribute("port", "int?", definition.ReadOnly, false, nil),
			attribute("size", "int", definition.ReadWrite, true, int64(5)),
			attribute("note", "string?", definition.ReadWrite, false, nil),
			attribute("must", "string", definition.ReadWrite, false, nil),
		}}
	}
	member := definition.Embedded{
		Name: "disks", Modifier: definition.ReadWrite, Part: part(),
	}
	member.KeyAttributes = []string{"key"}
	s := &definition.Service{Name: "site", Strict: strict, Part: part()}
	s.Embedded = []definition.Embedded{member}
	s.Relations = []definition.Relation{{
		Name: "owner", Service: "customer", Modifier: definition.Once,
		Limits: definition.Limits{Lower: 1, Upper: new(1)},
	}, {Name: "peers", Service: "site", Modifier: definition.ReadWrite}}
	return s
}

func attrs(kv ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i].(string)] = kv[i+1]
	}
	return out
}

// TestReplaced gives all attributes anew: those that are left out and may change get their
// defaults, and the others stay, in members, too.
func TestReplaced(t *testing.T) {
	t.Parallel()
	disk := func(kv ...any) map[string]any {
		return attrs(append([]any{"key", "a", "port", int64(7), "size", int64(9), "note", "n",
			"must", "m"}, kv...)...)
	}
	is := attrs("key", "k", "port", int64(8000), "size", int64(6), "note", "old", "must", "x",
		"owner", "o1", "peers", []any{"p1"}, "disks", []any{disk(), disk("key", "b")})
	for _, strict := range []bool{true, false} {
		s := replaceable(strict)
		same, err := inventory.Replaced(s, is, inventory.Writable(s, is))
		if d := cmp.Diff(is, same); err != nil || d != "" {
			t.Errorf("strict %v: what it has already: %v %s", strict, err, d)
		}
		for why, c := range map[string]struct{ given, want map[string]any }{
			"least": {attrs("must", "y"), attrs("key", "k", "port", int64(8000), "size", int64(5),
				"note", nil, "must", "y", "owner", "o1", "peers", []any{}, "disks", []any{})},
			"a member of two": {
				attrs("must", "y", "size", int64(1), "disks", []any{attrs("key", "b", "must", "z")}),
				attrs("key", "k", "port", int64(8000), "size", int64(1), "note", nil, "must", "y",
					"owner", "o1", "peers", []any{}, "disks",
					[]any{disk("key", "b", "size", int64(5), "note", nil, "must", "z")}),
			},
			"a new member": {
				attrs("must", "y", "peers", []any{"p2"},
					"disks", []any{attrs("key", "c", "must", "z")}),
				attrs("key", "k", "port", int64(8000), "size", int64(5), "note", nil, "must", "y",
					"owner", "o1", "peers", []any{"p2"}, "disks", []any{attrs("key", "c", "port", nil,
						"size", int64(5), "note", nil, "must", "z")}),
			},
		} {
			got, err := inventory.Replaced(s, is, c.given)
			if d := cmp.Diff(c.want, got); err != nil || d != "" {
				t.Errorf("strict %v: %s: %v %s", strict, why, err, d)
			}
		}
		for why, c := range map[string]struct {
			given       map[string]any
			path, about string
		}{
			"nothing":   {attrs(), "must", inventory.CodeMissing},
			"read-only": {attrs("must", "y", "port", int64(1)), "port", inventory.CodeModifier},
			"set once":  {attrs("must", "y", "key", "other"), "key", inventory.CodeModifier},
			"leads elsewhere": {attrs("must", "y", "owner", "o2"), "owner",
				inventory.CodeModifier},
			"unknown": {attrs("must", "y", "colour", "red"), "colour", inventory.CodeUnknown},
			"a member without what it needs": {
				attrs("must", "y", "disks", []any{attrs("key", "a")}), "disks[key=a].must",
				inventory.CodeMissing,
			},
		} {
			_, err := inventory.Replaced(s, is, c.given)
			problems, _ := diag.Of(err)
			if len(problems) != 1 || problems[0].Attribute != c.path ||
				problems[0].Code != c.about {
				t.Errorf("strict %v: %s: %+v, %v", strict, why, problems, err)
			}
		}
	}
}

// TestWritable leaves out what only the model sets: of members, where modifiers hold there.
func TestWritable(t *testing.T) {
	t.Parallel()
	is := attrs("key", "k", "port", int64(1), "disks", []any{attrs("key", "a", "port", int64(2))})
	for strict, disk := range map[bool]map[string]any{
		true: attrs("key", "a"), false: attrs("key", "a", "port", int64(2)),
	} {
		got := inventory.Writable(replaceable(strict), is)
		if d := cmp.Diff(attrs("key", "k", "disks", []any{disk}), got); d != "" {
			t.Errorf("strict %v: %s", strict, d)
		}
	}
	if inventory.Writable(replaceable(true), nil) != nil {
		t.Error("no set becomes one")
	}
}
