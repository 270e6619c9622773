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

// TestBridges holds that a bridge is a definition without a type, and has the bridges that are refused.
func TestBridges(t *testing.T) {
	t.Parallel()
	serve := func(schema.Type) (provider.Handler, error) { return nil, nil }
	named := []schema.Attribute{{Name: "name", Type: "String", Behaviour: schema.Namevar}}
	typ := provider.Definition{Type: schema.Type{Name: "acme::Good", Attributes: named},
		Handler: struct{ provider.Handler }{}}
	tf := provider.Definition{Bridge: &provider.Bridge{Name: "tf", Handler: serve}}
	good := []provider.Definition{typ, tf, tf}
	types, err := provider.NewRegistry(good)
	if err != nil || len(types.Names()) != 1 || len(provider.Handlers(good)) != 1 ||
		provider.Bridges(good)["tf"] != tf.Bridge {
		t.Fatal(err)
	}
	for want, wrong := range map[string]provider.Definition{
		"two bridges of the name":   {Bridge: &provider.Bridge{Name: "tf", Handler: serve}},
		"does not name a bridge":    {Bridge: &provider.Bridge{Name: "T f", Handler: serve}},
		"the bridge has no handler": {Bridge: &provider.Bridge{Name: "x"}},
		"has the prefix of the":     {Bridge: &provider.Bridge{Name: "acme", Handler: serve}},
		"has a bridge and a type":   {Bridge: tf.Bridge, Type: typ.Type, Handler: typ.Handler},
		"definition has no handler": {},
	} {
		if _, err := provider.NewRegistry(append(good, wrong)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: it does not say %q", err, want)
		}
	}
}
