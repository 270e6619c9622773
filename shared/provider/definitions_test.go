package provider_test

import (
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// TestRegistryOfDefinitions says all that is wrong with definitions at once, a handler that is
// missing included.
func TestRegistryOfDefinitions(t *testing.T) {
	t.Parallel()
	named := []schema.Attribute{{Name: "name", Type: "String", Behaviour: schema.Namevar}}
	good := provider.Definition{Type: schema.Type{Name: "acme::Good", Attributes: named},
		Handler: struct{ provider.Handler }{}}
	types, err := provider.NewRegistry([]provider.Definition{good})
	if _, ok := types.Type("acme::Good"); err != nil || !ok {
		t.Fatal(err)
	}
	_, err = provider.NewRegistry([]provider.Definition{good,
		{Type: schema.Type{Name: "acme::Bare", Attributes: named}},
		{Type: schema.Type{Name: "acme::Nameless"}}})
	for _, want := range []string{"acme::Bare: the definition has no handler",
		"acme::Nameless: the definition has no handler",
		"acme::Nameless: no attribute names the resource"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: it does not say %q", err, want)
		}
	}
}
