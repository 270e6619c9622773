package inventory_test

import (
	"slices"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// TestMigrate gives an instance a definition with an attribute more, and refuses what would leave
// it with what it cannot have.
func TestMigrate(t *testing.T) {
	t.Parallel()
	old := withLifecycle(t, "service_with_delete_validate")
	c, err := inventory.New(old, "i1", "", object(t, order), now)
	if err != nil {
		t.Fatal(err)
	}
	r := work(t, old, c.Record, false)
	s := withLifecycle(t, "service_with_delete_validate")
	s.Version = 2
	s.Attributes = append(slices.Clone(s.Attributes), definition.Attribute{
		Name: "more", Type: "string", Modifier: definition.Once,
	})
	other := object(t, strings.Replace(order, `{"name": "n"`, `{"more": "m", "name": "x"`, 1))
	given := object(t, strings.Replace(order, "{", `{"more": "m", `, 1))
	for _, one := range []struct {
		what string
		m    inventory.Migration
		code string
	}{
		{"an attribute is missing", inventory.Migration{State: "up", Active: r.Active},
			inventory.CodeMissing},
		{"another identity", inventory.Migration{State: "up", Active: other},
			inventory.CodeModifier},
		{"no attributes", inventory.Migration{State: "up"}, ""},
		{"no such state", inventory.Migration{State: "none", Active: given}, ""},
	} {
		_, err := inventory.Migrate(s, r, one.m, r.Version, now)
		problems, _ := diag.Of(err)
		has := slices.ContainsFunc(problems, func(p diag.Problem) bool {
			return p.Code == one.code
		})
		if err == nil || one.code != "" && !has {
			t.Errorf("%s: %v", one.what, err)
		}
	}
	m := inventory.Migration{State: "start", Candidate: given}
	if _, err := inventory.Migrate(s, r, m, r.Version+1, now); !fault.Is(err, fault.Conflict) {
		t.Errorf("another version: %v", err)
	}
	c, err = inventory.Migrate(s, r, m, r.Version, now)
	if err != nil {
		t.Fatal(err)
	}
	is := c.Record
	if is.ServiceVersion != 2 || is.Made.Candidate != is.Definition || is.Made.Active != "" ||
		is.Active != nil || is.Candidate["more"] != "m" || is.Definition == r.Definition {
		t.Errorf("%+v", is)
	}
	if is = work(t, s, is, false); is.State != "up" || is.Active["more"] != "m" {
		t.Errorf("it ends as %s with %v", is.State, is.Active)
	}
}
