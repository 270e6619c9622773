package console

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// identities are orders of instances with these identities, by their ids.
type identities struct {
	api.Orders
	of map[string]string
}

func (s *identities) Instance(_ context.Context, _ string, ref orders.Ref) (orders.Instance, error) {
	name, has := s.of[ref.ID]
	if !has {
		return orders.Instance{}, fault.New(fault.NotFound, "", "there is no such instance")
	}
	return orders.Instance{ID: ref.ID, Identity: &name}, nil
}

// TestNaming pins that compared values have the names of related instances, and no other text changes.
func TestNaming(t *testing.T) {
	t.Parallel()
	relation := definition.Relation{Name: "customer", Service: "customer"}
	service := &definition.Service{Part: definition.Part{
		Attributes: []definition.Attribute{{Name: "note"}},
		Relations:  []definition.Relation{relation},
		Embedded: []definition.Embedded{{Name: "cache", Part: definition.Part{
			Relations: []definition.Relation{relation}}}},
	}}
	r := New(nil, Options{}).site.request(httptest.NewRequestWithContext(t.Context(), "GET", "/console/e/x", nil), nil)
	r.Env = "e"
	const acme, gone = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	set := map[string]any{"note": "about " + acme, "customer": acme, "cache": map[string]any{"customer": acme}}
	n := r.naming(t.Context(), &identities{of: map[string]string{acme: "acme"}}, service, set,
		map[string]any{"customer": gone})
	for _, c := range []struct {
		name string
		v    any
		want valueView
	}{
		{"note", set["note"], valueView{Text: "about " + acme}},
		{"customer", acme, valueView{Text: acme,
			Links: []form.Link{{Name: "acme", URL: r.instanceURL(acme, ""), Title: acme}}}},
		{"customer", gone, valueView{Text: gone, Links: []form.Link{{Name: gone, URL: r.instanceURL(gone, "")}}}},
		{"customer", nil, valueView{Text: "not set", None: true}},
		{"cache", set["cache"], valueView{Text: "{\n  \"customer\": \"acme\"\n}", Long: true}},
	} {
		if d := cmp.Diff(c.want, n.value(c.name, c.v)); d != "" {
			t.Errorf("%s = %v: %s", c.name, c.v, d)
		}
	}
}
