package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// importing describes things by their identifiers.
type importing struct {
	handler
	things map[string]provider.Found
}

func (h importing) Import(
	_ *provider.Context, ids []string, found func(provider.Found) error,
) error {
	if len(ids) == 0 {
		for id := range h.things {
			ids = append(ids, id)
		}
		slices.Sort(ids)
	}
	for _, id := range ids {
		f, known := h.things[id]
		if !known {
			return provider.Errorf(provider.NeedsChange, "there is no %s", id)
		}
		if err := found(f); err != nil {
			return err
		}
	}
	return nil
}

// TestDiscoverImported pins the resources that follow from the answers of an importer: references stand
// for hidden values at any depth, resources that have to be completed are not left out, and a target
// gets no other reference into a document.
func TestDiscoverImported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "value", Type: "Optional[String]"},
		{Name: "password", Type: "Optional[Sensitive[String]]"},
		{Name: "parts", Type: "Optional[Array[Struct[{name => String, Optional[pin] => Sensitive[String]}]]]"},
		{Name: "must", Type: "Optional[String]"},
		{Name: "serial", Type: "Optional[String]", Behaviour: schema.ReadOnly}}})
	if err != nil {
		t.Fatal(err)
	}
	r.types = types
	r.use(r.home, "test")
	r.e.Handlers["t::T"] = importing{handler{r.w}, map[string]provider.Found{
		"1": {Attributes: map[string]any{"name": "plain", "value": "v", "serial": "7"}},
		"2": {Attributes: map[string]any{"name": "secret", "password": provider.Hidden{}, "parts": []any{
			map[string]any{"name": "a", "pin": provider.Hidden{}}, map[string]any{"name": "b"}}},
			Notes: []string{"the first apply changes value"}},
		"3": {Attributes: map[string]any{"name": "hostile", "value": resource.Secret{Source: "env:HOME"}}},
	}}
	d, err := r.e.Discover(t.Context(), "e", deploy.DiscoveryQuery{Type: "t::T", Agent: "a"})
	if err != nil || len(d.Resources) != 2 || len(d.LeftOut) != 1 || d.LeftOut[0].ID != id("hostile") {
		t.Fatalf("%+v, %v", d, err)
	}
	if got := fmt.Sprint(d.Resources[0].Attributes); got != "map[name:plain value:v]" {
		t.Errorf("%s: read-only attributes are left out", got)
	}
	const prefix = "env:SECRET_T_T_A_NAME_SECRET_"
	a := d.Resources[1].Attributes
	if a["password"] != (resource.Secret{Source: prefix + "PASSWORD"}) ||
		a["parts"].([]any)[0].(map[string]any)["pin"] != (resource.Secret{Source: prefix + "PARTS_0_PIN"}) {
		t.Errorf("%v", a)
	}
	want := "the first apply changes value; the value of parts/0/pin, password is secret: set " + prefix +
		"PARTS_0_PIN, " + prefix + "PASSWORD to it, or write its source in the document"
	if got := d.Notes[id("secret")]; got != want || d.Notes[id("plain")] != "" {
		t.Errorf("%q", d.Notes)
	}
	d, err = r.e.Discover(t.Context(), "e",
		deploy.DiscoveryQuery{Type: "t::T", Agent: "a", Import: []string{"1"}})
	if err != nil || len(d.Resources) != 1 || d.Resources[0].ID != id("plain") {
		t.Errorf("%+v, %v", d, err)
	}
	r.same("changes", r.took("create", "update", "delete"))
	for _, tt := range []struct {
		why  string
		q    deploy.DiscoveryQuery
		kind fault.Kind
		text string
	}{
		{"unknown", deploy.DiscoveryQuery{Import: []string{"1", "9"}}, fault.Invalid, "there is no 9"},
		{"twice", deploy.DiscoveryQuery{Import: []string{"1", "2", "1"}}, fault.Usage, `"1" is there twice`},
		{"empty", deploy.DiscoveryQuery{Import: []string{""}}, fault.Usage, "an identifier is empty"},
		{"attributes, too", deploy.DiscoveryQuery{Import: []string{"1"}, Like: map[string]string{"value": "v"}},
			fault.Usage, "both select objects"},
	} {
		tt.q.Type, tt.q.Agent = "t::T", "a"
		if _, err := r.e.Discover(t.Context(), "e", tt.q); !fault.Is(err, tt.kind) ||
			!strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
	r.e.Handlers["t::T"] = handler{r.w}
	_, err = r.e.Discover(t.Context(), "e",
		deploy.DiscoveryQuery{Type: "t::T", Agent: "a", Import: []string{"1"}})
	if !fault.Is(err, fault.Unsupported) {
		t.Error(err)
	}
}
