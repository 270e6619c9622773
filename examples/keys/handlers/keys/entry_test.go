package keys_test

import (
	"context"
	"strings"
	"testing"

	"southbound/examples/keys/handlers/keys"
	"southbound/examples/keys/keystest"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

// secrets answers every reference with one value.
type secrets string

func (s secrets) Resolve(context.Context, resource.Secret) (value, version string, err error) {
	return string(s), "1", nil
}

func agent(address any) resource.Agent {
	return resource.Agent{Name: "store", Transport: "keys", Options: map[string]any{
		"address": address, "password": resource.Secret{Source: "env:P"}}}
}

func brought(t *testing.T) transport.Packs {
	t.Helper()
	packs, err := transport.BroughtBy([]provider.Definition{keys.Entry(), keys.Entry()})
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

// TestEntry runs the conformance suite, connected as an agent is.
func TestEntry(t *testing.T) {
	s := &providertest.Stopper{}
	store := keystest.New(t, s.Before)
	connector := &transport.Connector{Packs: brought(t), Secrets: secrets(keystest.Password)}
	conn, err := connector.Connect(t.Context(), agent(store.Address))
	if err != nil {
		t.Fatal(err)
	}
	create := func(dir string, _ *providertest.Host) (providertest.Case, error) {
		return providertest.Case{
			Attributes: map[string]any{"name": dir + "/a", "value": "green"},
			Updates:    []map[string]any{{"value": "blue"}},
			Others:     []map[string]any{{"name": dir + "/b", "value": "red"}},
			World:      func() (string, error) { return store.World(dir) },
			Vanish:     func() error { store.Remove(dir + "/a"); return nil },
			Interrupt:  s.Interrupt,
			Edges:      []string{"value"},
		}, nil
	}
	providertest.Run(t, providertest.Subject{Definition: keys.Entry(), Transport: conn,
		New: create})
}

// TestConnect pins what connecting says when it fails, by the kinds that the engine goes by.
func TestConnect(t *testing.T) {
	t.Parallel()
	store := keystest.New(t, nil)
	for _, c := range []struct {
		why    string
		secret secrets
		agent  resource.Agent
		kind   fault.Kind
		says   string
	}{
		{"right", keystest.Password, agent(store.Address), "", ""},
		{"the address is a reference", "127.0.0.1", agent(resource.Secret{Source: "env:A"}),
			fault.Invalid, "the option address is not a valid"},
		{"another password", "wrong", agent(store.Address), fault.Denied, "refuses the password"},
		{"no server", keystest.Password, agent("127.0.0.1:1"), fault.Unavailable,
			"no server answers"},
	} {
		connector := &transport.Connector{Packs: brought(t), Secrets: c.secret}
		_, err := connector.Connect(t.Context(), c.agent)
		if fault.KindOf(err) != c.kind || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (%s)", c.why, err, fault.KindOf(err))
		}
		if err != nil && strings.Contains(err.Error(), string(c.secret)) {
			t.Errorf("%s: the error tells the secret: %v", c.why, err)
		}
	}
}
