package transport_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

func open(context.Context, string, map[string]any) (any, error) { return "open", nil }

func bring(t *provider.Transport) []provider.Definition {
	return []provider.Definition{{}, {Type: schema.Type{Name: "acme::Thing"}, Transport: t}}
}

// TestBroughtBy refuses declarations that are wrong, and says what and of which.
func TestBroughtBy(t *testing.T) {
	t.Parallel()
	of := func(options ...schema.Attribute) *provider.Transport {
		return &provider.Transport{Name: "line", Options: options, Connect: open}
	}
	for _, c := range []struct {
		why  string
		t    *provider.Transport
		says string
	}{
		{"right", of(schema.Attribute{Name: "host", Type: "String"}), ""},
		{"none", nil, ""},
		{"taken", &provider.Transport{Name: "ssh", Connect: open}, "every program has"},
		{"no name", &provider.Transport{Connect: open}, "not a name of a transport"},
		{"a bad name", &provider.Transport{Name: "Line", Connect: open},
			"not a name of a transport"},
		{"no Connect", &provider.Transport{Name: "line"}, "cannot be connected with"},
		{"reserved", of(schema.Attribute{Name: "lanes", Type: "Integer"}),
			"no option can be called lanes"},
		{"a behaviour", of(schema.Attribute{Name: "host", Type: "String",
			Behaviour: schema.ReadOnly}), "the option host has a behaviour"},
		{"a bad data type", of(schema.Attribute{Name: "host", Type: "Strong"}), "Strong"},
		{"a bad default", of(schema.Attribute{Name: "port", Type: "Integer", Default: "x"}),
			"port"},
	} {
		_, err := transport.BroughtBy(bring(c.t))
		if (err == nil) != (c.says == "") {
			t.Errorf("%s: %v", c.why, err)
		} else if err != nil && (!strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "acme::Thing")) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
	for _, c := range []struct {
		why  string
		all  []provider.Definition
		says []string
	}{
		{"several mistakes in one", bring(&provider.Transport{Name: "Line",
			Options: []schema.Attribute{{Name: "lanes", Type: "Integer"},
				{Name: "host", Type: "Strong"}, {Name: "port", Type: "Integer", Default: "x"}}}),
			[]string{"acme::Thing: the transport \"Line\": this is not a name of a transport",
				"it cannot be connected with", "no option can be called lanes",
				"the option host: ", "the option port: "}},
		{"transports of two types", append(bring(&provider.Transport{Name: "ssh", Connect: open}),
			provider.Definition{Type: schema.Type{Name: "acme::Other"},
				Transport: &provider.Transport{Name: "line"}}),
			[]string{"acme::Thing: the transport \"ssh\": every program has",
				"acme::Other: the transport \"line\": it cannot be connected with"}},
		{"a type whose transports there are not", []provider.Definition{
			{Type: schema.Type{Name: "acme::Thing", Transports: []string{"line", "htp", "keys"}},
				Transport: of()}},
			[]string{"acme::Thing: no transport of this program is called \"htp\"",
				"acme::Thing: no transport of this program is called \"keys\""}},
		{"a type that is wrong in itself, too", []provider.Definition{
			{Type: schema.Type{Name: "acme::Thing", Transports: []string{"Bad Name", "htp"}}}},
			[]string{"acme::Thing: \"Bad Name\" is not a name of a transport",
				"acme::Thing: no attribute names the resource",
				"acme::Thing: the definition has no handler",
				"acme::Thing: no transport of this program is called \"htp\""}},
	} {
		_, err := transport.BroughtBy(c.all)
		for _, want := range c.says {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nis to say %q", c.why, err, want)
			}
		}
	}
	known := []provider.Definition{{Type: schema.Type{Name: "acme::Thing",
		Transports: []string{"line", "http", "local"}}, Transport: of()},
		{Type: schema.Type{Name: "acme::Any", Transports: []string{schema.AnyTransport}}}}
	if _, err := transport.BroughtBy(known); err != nil {
		t.Errorf("transports that there are: %v", err)
	}
	two := append(bring(of()), bring(of())...)
	if _, err := transport.BroughtBy(two); err == nil ||
		!strings.Contains(err.Error(), "two have") {
		t.Errorf("two of one name: %v", err)
	}
}

// TestPackOptions checks the options of an agent as the transport declares them.
func TestPackOptions(t *testing.T) {
	t.Parallel()
	packs, err := transport.BroughtBy(bring(&provider.Transport{Name: "line", Connect: open,
		Options: []schema.Attribute{
			{Name: "host", Type: "String[1]", Description: "where it is"},
			{Name: "port", Type: "Integer[1]", Default: int64(80)},
			{Name: "key", Type: "Optional[Sensitive[String]]"},
		}}))
	if err != nil {
		t.Fatal(err)
	}
	ref := resource.Secret{Source: "env:S"}
	for _, c := range []struct {
		why, attribute string
		options        map[string]any
	}{
		{"right", "", map[string]any{"host": "a"}},
		{"references", "", map[string]any{"host": ref, "port": ref, "key": ref}},
		{"a secret in plain text", "key", map[string]any{"host": "a", "key": "hunter2"}},
		{"missing", "host", nil},
		{"unknown", "hosts", map[string]any{"host": "a", "hosts": "b"}},
		{"another type", "port", map[string]any{"host": "a", "port": "b"}},
	} {
		problems := packs.Check(resource.Agent{Name: "x", Transport: "line", Options: c.options})
		if c.attribute == "" && len(problems) == 0 {
			continue
		}
		if len(problems) != 1 || problems[0].Attribute != c.attribute ||
			strings.Contains(problems[0].Message+problems[0].Hint, "hunter2") {
			t.Errorf("%s: %+v", c.why, problems)
		}
	}
	for name, hint := range map[string]string{"lines": `did you mean "line"?`, "w": "aws, function, line"} {
		problems := packs.Check(resource.Agent{Name: "x", Transport: name})
		if len(problems) != 1 || !strings.Contains(problems[0].Hint, hint) {
			t.Errorf("the transport %s: %+v", name, problems)
		}
	}
}

// late is a connection that says when it is closed.
type late chan struct{}

func (l late) Close() error { close(l); return nil }

// TestPackConnect gives Connect what is declared, and outlives one that panics or hangs.
func TestPackConnect(t *testing.T) {
	t.Parallel()
	connect := func(ctx context.Context, options map[string]any,
		with func(context.Context, string, map[string]any) (any, error)) (any, error) {
		packs, err := transport.BroughtBy(bring(&provider.Transport{Name: "line", Connect: with,
			Options: []schema.Attribute{{Name: "port", Type: "Integer", Default: int64(80)},
				{Name: "key", Type: "Optional[Sensitive[String]]"}}}))
		if err != nil {
			t.Fatal(err)
		}
		c := &transport.Connector{Packs: packs, Secrets: secrets("hunter2")}
		return c.Connect(ctx, resource.Agent{Name: "x", Transport: "line", Options: options})
	}
	key := map[string]any{"key": resource.Secret{Source: "env:S"}}
	got, err := connect(t.Context(), key,
		func(_ context.Context, agent string, o map[string]any) (any, error) {
			return []any{agent, o["port"], o["key"], len(o)}, nil
		})
	if all, _ := got.([]any); err != nil || len(all) != 4 || all[0] != "x" || all[1] != int64(80) ||
		all[2] != "hunter2" || all[3] != 2 {
		t.Errorf("connected with %v, %v", got, err)
	}
	_, err = connect(t.Context(), key,
		func(_ context.Context, _ string, o map[string]any) (any, error) {
			panic(o["key"])
		})
	if !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a panic: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	closed, release := make(late), make(chan struct{})
	_, err = connect(ctx, nil, func(context.Context, string, map[string]any) (any, error) {
		cancel()
		<-release
		return closed, nil
	})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("one that does not end: %v", err)
	}
	close(release)
	<-closed // what came too late
	_, err = connect(t.Context(), nil, func(context.Context, string, map[string]any) (any, error) {
		return nil, errors.New("no")
	})
	if err == nil || err.Error() != "no" {
		t.Errorf("an error of the pack: %v", err)
	}
}

// TestPackOptionsFromSecrets reads a secret, which is text, as the type of its option says, and
// shows none that does not fit.
func TestPackOptionsFromSecrets(t *testing.T) {
	t.Parallel()
	connect := func(secret string) (any, error) {
		packs, err := transport.BroughtBy(bring(&provider.Transport{Name: "line",
			Options: []schema.Attribute{{Name: "pin", Type: "Sensitive[Integer[1000]]"}},
			Connect: func(_ context.Context, _ string, o map[string]any) (any, error) {
				return o["pin"], nil
			}}))
		if err != nil {
			t.Fatal(err)
		}
		c := &transport.Connector{Packs: packs, Secrets: secrets(secret)}
		return c.Connect(t.Context(), resource.Agent{Name: "x", Transport: "line",
			Options: map[string]any{"pin": resource.Secret{Source: "env:S"}}})
	}
	if got, err := connect("7007"); err != nil || got != int64(7007) {
		t.Errorf("connected with %#v, %v", got, err)
	}
	for _, bad := range []string{"seven", "77"} {
		if _, err := connect(bad); !fault.Is(err, fault.Invalid) ||
			strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
