//go:build servers

package process_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"southbound/shared/fault"
	"southbound/shared/tf/process"
	"southbound/shared/tf/tftest"
	"southbound/shared/tf/wire"
)

// kinds are the resources of the test providers.
func kinds(t *testing.T) map[string]func() (p *provider, name string, one, other map[string]cty.Value) {
	texts := func(all ...string) (out []cty.Value) {
		for _, s := range all {
			out = append(out, cty.StringVal(s))
		}
		return out
	}
	return map[string]func() (*provider, string, map[string]cty.Value, map[string]cty.Value){
		"version 6": func() (*provider, string, map[string]cty.Value, map[string]cty.Value) {
			parts := cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
				"name": cty.StringVal("lid"), "no": cty.NullVal(cty.Number)})})
			return started(t, tftest.Framework(t)), "fw_thing",
				map[string]cty.Value{"name": cty.StringVal("box"), "parts": parts,
					"pin_wo": cty.StringVal("1234"), "pin_wo_version": cty.NumberIntVal(1),
					"any":  cty.TupleVal(texts("a")),
					"tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b")})},
				map[string]cty.Value{"name": cty.StringVal("box"), "parts": parts,
					"size": cty.NumberIntVal(7)}
		},
		"version 5": func() (*provider, string, map[string]cty.Value, map[string]cty.Value) {
			network := cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
				"cidr": cty.StringVal("10.0.0.0/8")})})
			return started(t, tftest.SDK(t)), "sdk_server",
				map[string]cty.Value{"name": cty.StringVal("web"), "network": network,
					"labels": cty.SetVal(texts("x", "y"))},
				map[string]cty.Value{"name": cty.StringVal("web2"), "network": network}
		},
	}
}

// TestLife creates, reads, changes and deletes a resource of each test provider.
func TestLife(t *testing.T) {
	t.Parallel()
	for version, start := range kinds(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, name, one, other := start()
			s := p.schemas.Resources[name]
			config := p.object(s, one)
			p.call(func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
				return c.ValidateResource(ctx, name, p.encode(s, config))
			})
			made := p.apply(name, held{}, config)
			ids := p.store.IDs()
			if len(ids) != 1 || made.state.GetAttr("id").AsString() != ids[0] {
				t.Fatalf("%v, the store has %v", made.state, ids)
			}
			now := p.read(name, made)
			if _, a := p.plan(name, now, config); !p.decode(s, a.Planned).RawEquals(now.state) {
				t.Errorf("a plan after a create changes\n%#v to\n%#v", now.state, p.decode(s, a.Planned))
			}
			p.store.Change(ids[0], func(d map[string]any) { d["name"] = "drifted" })
			if v := p.read(name, now).state.GetAttr("name").AsString(); v != "drifted" {
				t.Errorf("read the name %s", v)
			}
			p.store.Change(ids[0], func(d map[string]any) { d["name"] = "web" })
			changed := p.apply(name, now, p.object(s, other))
			if !changed.state.GetAttr("id").RawEquals(made.state.GetAttr("id")) {
				t.Errorf("an update changed the id: %#v", changed.state)
			}
			if gone := p.apply(name, changed, p.compiled(s).Null()); !gone.state.IsNull() ||
				len(p.store.IDs()) != 0 {
				t.Errorf("%#v, the store has %v", gone.state, p.store.IDs())
			}
			if after := p.read(name, changed); !after.state.IsNull() {
				t.Errorf("a deleted resource has the state %#v", after.state)
			}
		})
	}
}

// TestStopKeepsState pins that a create that is stopped after its effect answers with the state, and
// that the process serves further calls.
func TestStopKeepsState(t *testing.T) {
	t.Parallel()
	for version, start := range kinds(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, name, one, _ := start()
			s := p.schemas.Resources[name]
			q, _ := p.plan(name, held{}, p.object(s, one))
			p.store.Requests()
			p.store.At(2, tftest.Hang) // after the document was made
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-p.store.Hanging()
				cancel()
			}()
			var a wire.ApplyAnswer
			err := p.pool.Do(ctx, p.target, func(ctx context.Context, c *process.Call) (err error) {
				a, err = c.Apply(ctx, q)
				return err
			})
			if err != nil || !wire.Failed(a.Diagnostics) {
				t.Fatalf("%v, %+v", err, a.Diagnostics)
			}
			made := held{p.decode(s, a.State), a.Private, a.Identity}
			if ids := p.store.IDs(); len(ids) != 1 || made.state.IsNull() ||
				made.state.GetAttr("id").AsString() != ids[0] {
				t.Fatalf("%#v, the store has %v", made.state, ids)
			}
			if now := p.read(name, made); now.state.IsNull() {
				t.Error("the made resource is gone")
			}
		})
	}
}

// TestFailedCreateHasState pins that the answer of a create that fails after its effect has a state
// beside the error.
func TestFailedCreateHasState(t *testing.T) {
	t.Parallel()
	for version, start := range kinds(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, name, one, _ := start()
			s := p.schemas.Resources[name]
			for at, want := range []bool{false, true} { // whether the provider knows what it made
				q, _ := p.plan(name, held{}, p.object(s, one))
				p.store.Requests()
				p.store.At(at+1, tftest.Fail)
				var a wire.ApplyAnswer
				err := p.pool.Do(t.Context(), p.target,
					func(ctx context.Context, c *process.Call) (err error) {
						a, err = c.Apply(ctx, q)
						return err
					})
				if err != nil || !wire.Failed(a.Diagnostics) ||
					!strings.Contains(a.Diagnostics[0].Summary+a.Diagnostics[0].Detail, "out of order") {
					t.Fatalf("%v, %+v", err, a.Diagnostics)
				}
				if state := p.decode(s, a.State); state.IsNull() == want {
					t.Errorf("after request %d failed: %#v", at+1, state)
				}
			}
		})
	}
}

// TestSchemas pins the parts of schemas that differ between the versions of the protocol.
func TestSchemas(t *testing.T) {
	t.Parallel()
	six, five := started(t, tftest.Framework(t)), started(t, tftest.SDK(t))
	if six.speaks != wire.Protocol6 || five.speaks != wire.Protocol5 {
		t.Errorf("they speak %d and %d", six.speaks, five.speaks)
	}
	thing := six.schemas.Resources["fw_thing"]
	of := func(name string) wire.Attribute {
		i := slices.IndexFunc(thing.Block.Attributes,
			func(a wire.Attribute) bool { return a.Name == name })
		return thing.Block.Attributes[i]
	}
	if thing.Version != 2 || !of("pin_wo").WriteOnly || !of("secret").Sensitive ||
		of("note").DeprecationMessage != "Use tags instead." || of("parts").Nested == nil ||
		of("parts").Nested.Nesting != wire.NestingList || string(of("any").Type) != `"dynamic"` ||
		!six.schemas.Provider.Block.Markdown || !six.schemas.Capabilities.MoveState ||
		!slices.Equal(six.schemas.Functions, []string{"upper"}) ||
		len(six.schemas.Ephemeral) != 1 || len(six.schemas.Lists) != 1 {
		t.Errorf("%+v", six.schemas)
	}
	server := five.schemas.Resources["sdk_server"]
	blocks := map[string]wire.NestedBlock{}
	for _, b := range server.Block.Blocks {
		blocks[b.Name] = b
	}
	if server.Version != 1 || blocks["network"].MaxItems != 1 ||
		blocks["network"].Nesting != wire.NestingList || blocks["rule"].Nesting != wire.NestingSet ||
		blocks["timeouts"].Nesting != wire.NestingSingle {
		t.Errorf("%+v", server)
	}
	six.call(func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		m, d, err := c.Metadata(ctx)
		if !slices.Equal(slices.Sorted(slices.Values(m.Resources)), []string{"fw_crate", "fw_thing"}) || len(m.DataSources) != 2 {
			t.Errorf("%+v", m)
		}
		return d, err
	})
	six.call(func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		all, d, err := c.Identities(ctx)
		if a := all["fw_thing"].Attributes; len(a) != 1 || !a[0].RequiredForImport {
			t.Errorf("%+v", all)
		}
		return d, err
	})
}

// TestImportUpgradeMove brings states from elsewhere.
func TestImportUpgradeMove(t *testing.T) {
	t.Parallel()
	p := started(t, tftest.Framework(t))
	s := p.schemas.Resources["fw_thing"]
	made := p.apply("fw_thing", held{}, p.object(s, map[string]cty.Value{"name": cty.StringVal("box")}))
	id := made.state.GetAttr("id")
	identity := wire.DynamicValue{}
	b, err := msgpack.Marshal(cty.ObjectVal(map[string]cty.Value{"id": id}),
		cty.Object(map[string]cty.Type{"id": cty.String}))
	if err != nil {
		t.Fatal(err)
	}
	identity.Msgpack = b
	for name, q := range map[string]wire.Import{
		"id": {Type: "fw_thing", ID: id.AsString()}, "identity": {Type: "fw_thing", Identity: identity},
	} {
		p.call(func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
			a, err := c.Import(ctx, q)
			if err == nil && (len(a.Resources) != 1 ||
				!p.decode(s, a.Resources[0].State).GetAttr("id").RawEquals(id)) {
				t.Errorf("import by %s: %+v", name, a)
			}
			return a.Diagnostics, err
		})
	}
	check := func(how string, v wire.DynamicValue, d []wire.Diagnostic) {
		if wire.Failed(d) {
			t.Errorf("%s: %+v", how, d)
		} else if state := p.decode(s, v); state.GetAttr("name").AsString() != "old" {
			t.Errorf("%s: %#v", how, state)
		}
	}
	former := []byte(`{"id": "t-1", "title": "old"}`)
	p.call(func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		v, d, err := c.UpgradeState(ctx, "fw_thing", 1, former)
		check("upgraded", v, d)
		return d, err
	})
	p.call(func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		a, err := c.Move(ctx, wire.Move{SourceProvider: "example.com/southbound/fw",
			SourceType: "fw_old", SourceState: former, Type: "fw_thing"})
		check("moved", a.State, a.Diagnostics)
		return a.Diagnostics, err
	})
}

// TestReplacement pins the paths of attributes that replace a resource.
func TestReplacement(t *testing.T) {
	t.Parallel()
	p := started(t, tftest.Framework(t))
	s := p.schemas.Resources["fw_thing"]
	made := p.apply("fw_thing", held{}, p.object(s, map[string]cty.Value{"name": cty.StringVal("a")}))
	_, a := p.plan("fw_thing", made, p.object(s, map[string]cty.Value{"name": cty.StringVal("b")}))
	if len(a.RequiresReplace) != 1 || len(a.RequiresReplace[0]) != 1 ||
		a.RequiresReplace[0][0] != (wire.Step{Kind: wire.StepAttribute, Name: "name"}) {
		t.Errorf("%+v", a.RequiresReplace)
	}
}

// TestRefusedConfiguration pins the error of a configuration that the provider rejects.
func TestRefusedConfiguration(t *testing.T) {
	t.Parallel()
	p := started(t, tftest.Framework(t))
	p.configure(p.target.Program, "http://localhost", "wrong")
	_, err := do(t.Context(), p.pool, p.target, "fw_thing")
	var refused *process.Refused
	if !fault.Is(err, fault.Invalid) || !errors.As(err, &refused) || fault.HintOf(err) == "" ||
		refused.Diagnostics[0].Path[0].Name != "token" {
		t.Error(err)
	}
}

// TestCrashOfProvider pins that the data source that ends its process gives an error with the output.
func TestCrashOfProvider(t *testing.T) {
	t.Parallel()
	p := started(t, tftest.Framework(t))
	s := p.schemas.DataSources["fw_process"]
	read := func(given map[string]cty.Value) (out cty.Value, err error) {
		err = p.pool.Do(t.Context(), p.target, func(ctx context.Context, c *process.Call) error {
			v, _, err := c.ReadDataSource(ctx, "fw_process", p.encode(s, p.object(s, given)),
				wire.DynamicValue{})
			if err == nil {
				out = p.decode(s, v)
			}
			return err
		})
		return out, err
	}
	before, err := read(nil)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Repeat("a word\n", 100_000) // more than a pipe holds
	if _, err = read(map[string]cty.Value{"logged": cty.StringVal(words + "a last word")}); err != nil {
		t.Fatal(err)
	}
	_, err = read(map[string]cty.Value{"exit": cty.NumberIntVal(7)})
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "exit status 7") ||
		!strings.Contains(err.Error(), "a last word") {
		t.Error(err)
	}
	after, err := read(nil)
	if err != nil || after.GetAttr("pid").RawEquals(before.GetAttr("pid")) {
		t.Errorf("%#v, %v", after, err)
	}
}

// TestTime runs a resource of a provider that others wrote.
func TestTime(t *testing.T) {
	t.Parallel()
	p := started(t, tftest.Time(t))
	s := p.schemas.Resources["time_static"]
	config := p.object(s, map[string]cty.Value{"rfc3339": cty.StringVal("2026-01-02T03:04:05Z")})
	made := p.apply("time_static", held{}, config)
	if v, _ := made.state.GetAttr("year").AsBigFloat().Int64(); v != 2026 {
		t.Errorf("%#v", made.state)
	}
	now := p.read("time_static", made)
	if _, a := p.plan("time_static", now, config); !p.decode(s, a.Planned).RawEquals(now.state) {
		t.Errorf("a plan after a create changes %#v", now.state)
	}
	if gone := p.apply("time_static", now, p.compiled(s).Null()); !gone.state.IsNull() {
		t.Errorf("%#v", gone.state)
	}
}
