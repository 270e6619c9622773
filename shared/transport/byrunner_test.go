package transport_test

import (
	"context"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

// TestByRunner pins which agents the functions of the AWS home leave to runners.
func TestByRunner(t *testing.T) {
	t.Parallel()
	open := func(context.Context, string, map[string]any) (any, error) { return nil, nil }
	packs, err := transport.BroughtBy([]provider.Definition{
		{Transport: &provider.Transport{Name: "line", Connect: open}},
		{Transport: &provider.Transport{Name: "process", Connect: open, Runner: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, transport string
		options        map[string]any
		packs          transport.Packs
		want           bool
	}{
		{"the machine itself", "local", nil, packs, true},
		{"as local", "", nil, packs, true},
		{"an API", "http", nil, packs, false},
		{"a function runs it", "function", nil, packs, false},
		{"keys of a machine", "ssh", map[string]any{"key_file": "/k"}, packs, true},
		{"whole options", "ssh", map[string]any{"user": "u", "host_key": "k",
			"key": resource.Secret{Source: "ssm:/k"}}, packs, false},
		{"a transport of a pack", "line", nil, packs, false},
		{"one that needs a machine", "process", nil, packs, true},
		{"a program without the pack", "process", nil, transport.Packs{}, false},
	} {
		if got := c.packs.ByRunner(resource.Agent{Name: "a", Transport: c.transport,
			Options: c.options}); got != c.want {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}

// TestTransportAlone pins that a definition may have a transport and nothing else, and that its problems
// name the transport.
func TestTransportAlone(t *testing.T) {
	t.Parallel()
	open := func(context.Context, string, map[string]any) (any, error) { return nil, nil }
	alone := []provider.Definition{{Transport: &provider.Transport{Name: "line", Connect: open}}}
	types, err := provider.NewRegistry(alone)
	if err != nil || len(types.Names()) != 0 || len(provider.Handlers(alone)) != 0 {
		t.Errorf("%v, %v", types, err)
	}
	packs, err := transport.BroughtBy(alone)
	if err != nil || len(packs.Check(resource.Agent{Name: "a", Transport: "line"})) != 0 {
		t.Errorf("%v, %v", packs, err)
	}
	alone[0].Transport = &provider.Transport{Name: "ssh", Connect: open}
	if _, err := transport.BroughtBy(alone); err == nil ||
		err.Error() != `ssh: the transport "ssh": every program has a transport of this name` {
		t.Errorf("%v", err)
	}
}
