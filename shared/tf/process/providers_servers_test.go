//go:build servers

package process_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"southbound/shared/tf/process"
	"southbound/shared/tf/tftest"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// provider is a provider with its schemas and a configured target.
type provider struct {
	t       *testing.T
	pool    *process.Pool
	target  process.Target
	schemas wire.Schemas
	speaks  wire.Protocol
	store   *tftest.Store
}

// started returns a provider whose configuration has the address of a store.
func started(t *testing.T, program string) *provider {
	t.Helper()
	pool, _ := pool(t, process.Limits{})
	p := &provider{t: t, pool: pool, store: &tftest.Store{}}
	server := httptest.NewServer(p.store)
	t.Cleanup(server.Close)
	err := pool.Do(t.Context(), process.Target{Program: program},
		func(ctx context.Context, c *process.Call) error {
			s, d, err := c.Schemas(ctx)
			p.schemas, p.speaks = s, c.Protocol()
			if wire.Failed(d) {
				t.Error(d)
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	p.configure(program, server.URL, "")
	return p
}

// configure sets the target for a configuration.
func (p *provider) configure(program, url, token string) {
	attributes := map[string]cty.Value{}
	if len(p.schemas.Provider.Block.Attributes) > 0 {
		attributes["url"] = cty.StringVal(url)
		if token != "" {
			attributes["token"] = cty.StringVal(token)
		}
	}
	config := p.encode(p.schemas.Provider, p.object(p.schemas.Provider, attributes))
	p.target = process.Target{Program: program, Config: config,
		Start: process.Configure("1.9.0", config, !p.schemas.Capabilities.SchemaOptional)}
}

// compiled returns the type of a schema.
func (p *provider) compiled(s wire.Schema) *value.Type {
	p.t.Helper()
	ty, err := value.Compile(&s)
	if err != nil {
		p.t.Fatal(err)
	}
	return ty
}

// object returns an object with all attributes of a schema: null, or empty blocks, where none is
// given.
func (p *provider) object(s wire.Schema, given map[string]cty.Value) cty.Value {
	all := map[string]cty.Value{}
	for name, ty := range p.compiled(s).Cty().AttributeTypes() {
		isBlock := slices.ContainsFunc(s.Block.Blocks,
			func(b wire.NestedBlock) bool { return b.Name == name })
		switch v, found := given[name]; {
		case found:
			all[name] = v
		case isBlock && ty.IsListType():
			all[name] = cty.ListValEmpty(ty.ElementType())
		case isBlock && ty.IsSetType():
			all[name] = cty.SetValEmpty(ty.ElementType())
		default:
			all[name] = cty.NullVal(ty)
		}
	}
	return cty.ObjectVal(all)
}

func (p *provider) encode(s wire.Schema, v cty.Value) wire.DynamicValue {
	p.t.Helper()
	b, err := msgpack.Marshal(v, p.compiled(s).Cty())
	if err != nil {
		p.t.Fatal(err)
	}
	return wire.DynamicValue{Msgpack: b}
}

func (p *provider) decode(s wire.Schema, v wire.DynamicValue) cty.Value {
	p.t.Helper()
	out, err := p.compiled(s).FromMsgpack(v.Msgpack)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// call makes a call that has to succeed.
func (p *provider) call(f func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error)) {
	p.t.Helper()
	err := p.pool.Do(p.t.Context(), p.target, func(ctx context.Context, c *process.Call) error {
		d, err := f(ctx, c)
		if wire.Failed(d) {
			p.t.Errorf("%+v", d)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// held is the state of a resource with its private bytes and its identity.
type held struct {
	state    cty.Value
	private  []byte
	identity wire.DynamicValue
}

// plan plans a change to a configuration; a null configuration deletes.
func (p *provider) plan(name string, prior held, config cty.Value) (q wire.Apply, a wire.PlanAnswer) {
	p.t.Helper()
	s := p.schemas.Resources[name]
	ty := p.compiled(s)
	if prior.state == cty.NilVal {
		prior.state = ty.Null()
	}
	proposed := ty.Null()
	if !config.IsNull() {
		proposed = ty.Proposed(prior.state, config)
	}
	p.call(func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		a, err = c.Plan(ctx, wire.Plan{Type: name, Prior: p.encode(s, prior.state),
			Proposed: p.encode(s, proposed), Config: p.encode(s, config), Private: prior.private,
			Identity: prior.identity})
		return a.Diagnostics, err
	})
	return wire.Apply{Type: name, Prior: p.encode(s, prior.state), Planned: a.Planned,
		Config: p.encode(s, config), Private: a.Private, Identity: a.Identity}, a
}

// apply plans and applies a change.
func (p *provider) apply(name string, prior held, config cty.Value) held {
	p.t.Helper()
	q, _ := p.plan(name, prior, config)
	var a wire.ApplyAnswer
	p.call(func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		a, err = c.Apply(ctx, q)
		return a.Diagnostics, err
	})
	return held{p.decode(p.schemas.Resources[name], a.State), a.Private, a.Identity}
}

// read reads a resource.
func (p *provider) read(name string, h held) held {
	p.t.Helper()
	s := p.schemas.Resources[name]
	var a wire.ReadAnswer
	p.call(func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		a, err = c.Read(ctx, wire.Read{Type: name, State: p.encode(s, h.state), Private: h.private,
			Identity: h.identity})
		return a.Diagnostics, err
	})
	return held{p.decode(s, a.State), a.Private, a.Identity}
}
