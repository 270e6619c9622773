package deploy_test

import (
	"errors"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestCreateBeforeDestroy pins that a resource selects the order of its replacement, and that it may
// do so again in the middle of one.
func TestCreateBeforeDestroy(t *testing.T) {
	t.Parallel()
	in := func(zone string, first bool) *model.Model {
		return disk(map[string]any{"zone": zone, schema.CreateBeforeDestroy: first}, resource.Flags{})
	}
	for _, tc := range []struct {
		why   string
		first bool
		fails string // the call of the first replacement whose answer is lost
		calls string // of the first replacement
		then  *model.Model
		next  string // calls of the run after it
	}{
		{"the new one first", true, "", "create, delete d1", in("b", true), ""},
		{"the old one first", false, "", "delete d1, create", in("b", false), ""},
		{"the order alone is no difference", true, "", "create, delete d1", in("b", false), ""},
		{"the replaced thing is deleted, also if the order has changed since", true, "create", "create",
			in("b", false), "delete d1"},
		{"both are deleted before the next one is made", true, "create", "create", in("c", false),
			"delete d2, create, delete d1"},
		{"both are deleted after the next one was made", true, "create", "create", in("c", true),
			"create, delete d1, delete d2"},
		{"nothing is left to be deleted", false, "delete d1", "delete d1", in("c", true), "create"},
		{"what a create made is replaced", false, "create", "delete d1, create", in("c", true),
			"create, delete d2"},
		{"what a create made is deleted first", false, "create", "delete d1, create",
			in("c", false), "delete d2, create"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			c := &cloud{choice: true}
			r := diskRig(t, c)
			r.wants(c, in("a", tc.first))
			for _, read := range []bool{false, true} {
				d, err := r.e.Preview(t.Context(), "e", deploy.Export{Model: in("b", tc.first)},
					deploy.CompareOptions{Read: read})
				if err != nil || len(d.Planned) != 1 || !d.Planned[0].Replace ||
					d.Planned[0].CreateFirst != tc.first {
					t.Errorf("the plan, with reality read %v: %+v, %v", read, d.Planned, err)
				}
			}
			if tc.fails != "" {
				c.after[tc.fails] = errors.New("lost")
			}
			if row, calls := r.wants(c, in("b", tc.first)); calls != tc.calls {
				t.Fatalf("%s, %v, %s (%s)", calls, c.ids(), row.Status(), row.Reason)
			}
			clear(c.after)
			var token any
			if d := c.disks["d2"]; d != nil {
				token = d["token"]
			}
			row, calls := r.wants(c, tc.then)
			if calls != tc.next || len(c.disks) != 1 || row.Status() != state.StatusDeployed ||
				len(row.Notes) > 0 || row.Creating != "" {
				t.Fatalf("then %s, %v, %s (%s), notes %q", calls, c.ids(), row.Status(), row.Reason,
					row.Notes)
			}
			if d := c.disks["d3"]; d != nil && d["token"] == token {
				t.Errorf("two things were created with the token %v", token)
			}
			if _, calls := r.again(c); calls != "" {
				t.Errorf("and once more: %s", calls)
			}
		})
	}
}

// TestCreateFirstIsDeclaredWhole pins what a type needs whose things are replaced by creating
// first.
func TestCreateFirstIsDeclaredWhole(t *testing.T) {
	t.Parallel()
	name := schema.Attribute{Name: "name", Type: "String", Behaviour: schema.Namevar}
	zone := schema.Attribute{Name: "zone", Type: "String", Behaviour: schema.Replace}
	number := schema.Attribute{Name: "number", Type: "Integer", Behaviour: schema.ReadOnly}
	flag := schema.Attribute{Name: schema.CreateBeforeDestroy, Type: "Boolean", Default: false,
		Behaviour: schema.Parameter}
	property, text := flag, flag
	property.Behaviour, text.Type, text.Default = schema.Property, "String", nil
	for _, tc := range []struct {
		typ  schema.Type
		want string
	}{
		{schema.Type{Name: "t::T", CreateFirst: true, Assigned: true,
			Attributes: []schema.Attribute{name, zone, number}}, ""},
		{schema.Type{Name: "t::T", CreateFirst: true,
			Attributes: []schema.Attribute{name, zone, number}},
			"two of one name cannot exist at once"},
		{schema.Type{Name: "t::T", CreateFirst: true, Assigned: true,
			Attributes: []schema.Attribute{name, zone}},
			"no read-only attribute distinguishes the old object"},
		{schema.Type{Name: "t::T", CreateFirst: true, Assigned: true,
			Attributes: []schema.Attribute{name, number}}, "no attribute has the behaviour replace"},
		{schema.Type{Name: "t::T", Assigned: true, // the handler decides about replacements
			Attributes: []schema.Attribute{name, number, flag}}, ""},
		{schema.Type{Name: "t::T", Attributes: []schema.Attribute{name, zone, number, flag}},
			"two of one name cannot exist at once"},
		{schema.Type{Name: "t::T", Assigned: true, Attributes: []schema.Attribute{name, zone, flag}},
			"no read-only attribute distinguishes the old object"},
		{schema.Type{Name: "t::T", Assigned: true,
			Attributes: []schema.Attribute{name, number, property}}, "selects the order"},
		{schema.Type{Name: "t::T", Assigned: true,
			Attributes: []schema.Attribute{name, number, text}}, "selects the order"},
		{schema.Type{Name: "t::T", Assigned: true, CreateFirst: true,
			Attributes: []schema.Attribute{name, zone, number, flag}}, "have no choice"},
	} {
		_, err := schema.NewRegistry(tc.typ)
		if (err == nil) != (tc.want == "") ||
			err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v", tc.want, err)
		}
	}
}
