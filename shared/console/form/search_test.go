package form_test

import (
	"testing"

	"southbound/shared/console/form"
	"southbound/shared/service/definition"
)

// TestFound: a search replaces the values of its control alone; another control with the same values
// keeps them.
func TestFound(t *testing.T) {
	t.Parallel()
	relation := func(name string) definition.Relation {
		return definition.Relation{Name: name, Service: "customer", Modifier: definition.ReadWrite,
			Limits: definition.Limits{Upper: new(1)}}
	}
	f := &form.Form{Service: &definition.Service{Part: definition.Part{
		Relations: []definition.Relation{relation("payer"), relation("owner")}}}}
	all := []form.Option{{Value: "1", Label: "acme"}, {Value: "2", Label: "globex"}}
	v := f.View(f.Draft(nil), nil, form.Sources{
		Instances: map[string][]form.Option{"customer": all}, More: map[string]bool{"customer": true},
		Found: map[string][]form.Option{"/payer": all[1:]},
		URL:   func(service, parameter string) string { return service + "?" + parameter },
	})
	payer, owner := v.Control("/payer"), v.Control("/owner")
	if payer == nil || owner == nil {
		t.Fatalf("controls: %v", v.Tabs)
	}
	if len(payer.Suggestions) != 1 || len(owner.Suggestions) != 2 || owner.URL != "customer?" {
		t.Errorf("suggestions: %v, %v at %q", payer.Suggestions, owner.Suggestions, owner.URL)
	}
}
