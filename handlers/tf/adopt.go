package tf

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/tf/adopt"
	"southbound/shared/tf/process"
	"southbound/shared/tf/wire"
)

// adoption is one call of Adopt.
type adoption struct {
	*bridge
	ctx      context.Context
	metas    map[string]meta     // by the names of types here
	programs map[string]*program // by the addresses of providers
}

// Adopt implements provider.Adopter. The providers run without a configuration: they upgrade states of
// older schemas, and validate the configurations that follow from the states.
func (b *bridge) Adopt(ctx context.Context, q provider.AdoptQuery) (*provider.Adoption, error) {
	s, err := adopt.Parse(q.State)
	if err != nil {
		return nil, err
	}
	a := &adoption{b, ctx, map[string]meta{}, map[string]*program{}}
	options := adopt.Options{Agents: q.Agents, Upgrade: a.upgrade}
	for i := range q.Packages {
		p, err := a.provider(&q.Packages[i])
		if err != nil {
			return nil, err
		}
		options.Providers = append(options.Providers, *p)
	}
	plan, err := s.Plan(options)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(fault.Canceled, "adopt", fault.Ended(ctx))
	}
	return a.result(plan)
}

// provider returns a package in the form that the plan needs.
func (a *adoption) provider(p *provider.Package) (*adopt.Provider, error) {
	out := &adopt.Provider{Name: p.Name, Address: p.Address, Types: map[string]adopt.Type{}}
	for i := range p.Types {
		t := &p.Types[i]
		m, err := metaOf(t)
		if err != nil {
			return nil, err
		}
		if a.programs[p.Address] == nil {
			if a.programs[p.Address], err = a.program(a.ctx, &m); err != nil {
				return nil, err
			}
		}
		if m.data {
			continue
		}
		a.metas[t.Name] = m
		out.Types[m.theirs] = adoptType(t, &m)
	}
	if of := a.programs[p.Address]; of != nil {
		out.Schemas = of.schemas
	} else {
		out.Schemas = &wire.Schemas{}
	}
	return out, nil
}

func adoptType(t *schema.Type, m *meta) adopt.Type {
	out := adopt.Type{Name: t.Name, Attributes: map[string]string{}, Outputs: map[string]string{}}
	for i := range t.Attributes {
		at := &t.Attributes[i]
		if own(at.Name) {
			out.Ordered = out.Ordered || at.Name == schema.CreateBeforeDestroy
			continue
		}
		theirs := at.Name
		if name, renamed := m.schema[at.Name]; renamed {
			theirs = name
		}
		out.Outputs[theirs] = at.Name
		if at.Behaviour != schema.ReadOnly {
			out.Attributes[theirs] = at.Name
		}
	}
	return out
}

// do calls a provider that is not configured. It returns the errors in the answer as one error.
func (a *adoption) do(m *meta, p *program, f call) error {
	target := process.Target{Program: p.installed.Executable, Digest: p.installed.Digest}
	return a.Pool.Do(a.ctx, target, func(ctx context.Context, c *process.Call) error {
		d, err := f(ctx, c)
		if err == nil && c.Interrupted() {
			err = fault.New(fault.Unavailable, "adopt", "the call to the provider was interrupted")
		}
		if err == nil && wire.Failed(d) {
			err = &failure{d, m.failed(provider.NeedsChange, d)}
		}
		return err
	})
}

// failure is an answer with errors.
type failure struct {
	diagnostics []wire.Diagnostic
	error
}

// upgrade returns the state of an object in the present schema.
func (a *adoption) upgrade(of *adopt.Provider, o *adopt.Object) (json.RawMessage, error) {
	p := a.programs[of.Address]
	m := a.metas[of.Types[o.Address.Type].Name]
	ty, err := p.compiled("resource", o.Address.Type)
	if err != nil {
		return nil, err
	}
	var v wire.DynamicValue
	err = a.do(&m, p, func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		v, d, err = c.UpgradeState(ctx, o.Address.Type, o.Version, o.Attributes)
		return d, err
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, "", "%s", hidden(of.Schemas.Resources[o.Address.Type].Block, o).
			Clean(err.Error(), diff.Redacted))
	}
	state, err := decode(ty, v)
	if err != nil {
		return nil, err
	}
	return ty.JSON(state)
}

// hidden returns the texts of a state of another schema that may be secrets: all but those of attributes
// that are known not to be sensitive. A provider may quote them.
func hidden(b wire.Block, o *adopt.Object) *redact.Set {
	known := map[string]bool{}
	for i := range b.Attributes {
		a := &b.Attributes[i]
		known[a.Name] = !a.Sensitive && a.Nested == nil
	}
	for _, path := range o.Sensitive {
		first, _, _ := strings.Cut(path, "/")
		known[first] = false
	}
	out := new(redact.Set)
	var all map[string]any
	if err := json.Unmarshal(o.Attributes, &all); err != nil {
		return out
	}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			out.Add(v)
		case []any:
			for _, e := range v {
				add(e)
			}
		case map[string]any:
			for _, e := range v {
				add(e)
			}
		}
	}
	for name, v := range all {
		if !known[name] {
			add(v)
		}
	}
	return out
}

// result returns the adoption of a plan.
func (a *adoption) result(plan *adopt.Plan) (*provider.Adoption, error) {
	out := &provider.Adoption{}
	for _, of := range plan.Agents {
		agent := provider.AdoptedAgent{Source: of.Of, Agent: resource.Agent{Name: of.Name, Transport: Transport,
			Options: map[string]any{"provider": of.Provider}}, Note: configNote(&of)}
		out.Agents = append(out.Agents, agent)
	}
	for _, l := range plan.Left {
		out.Left = append(out.Left, provider.LeftThing{Source: l.Address, Reason: l.Reason, Hint: l.Hint,
			Reads: l.Data})
	}
	for _, v := range plan.Variables {
		out.Variables = append(out.Variables, provider.AdoptedVariable(v))
	}
	for i := range plan.Resources {
		r := &plan.Resources[i]
		m := a.metas[r.Type]
		p := a.programs[m.provider.String()]
		if err := a.fit(&m, p, r); err != nil {
			return nil, err
		}
		kept, err := keptOf(&m, r.Object)
		if err != nil {
			return nil, err
		}
		attributes := maps.Clone(r.Attributes)
		attributes[attrLabel] = r.Label
		out.Resources = append(out.Resources, provider.Adopted{Source: r.Address, Kept: kept, Outputs: r.Outputs,
			Notes: r.Notes, Resource: resource.Resource{ID: r.ID, Type: r.Type, Agent: r.Agent,
				Attributes: attributes, Requires: r.Requires}})
	}
	return out, nil
}

// configNote returns what is left to do with the configuration of an agent: a state file has none.
func configNote(of *adopt.Agent) string {
	switch {
	case len(of.Required) > 0:
		return "set config: it requires " + strings.Join(of.Required, ", ")
	case of.Optional:
		return "set config as in the provider block, if there is one: a state file does not have it"
	}
	return ""
}

// keptOf returns the kept state of an adopted object. It has no digest of a program, so the first read
// upgrades it, as Terraform does before each read.
func keptOf(m *meta, o *adopt.Object) ([]byte, error) {
	k := kept{Form: keptForm, Current: &record{Provider: m.provider.String(), Type: m.theirs,
		Version: o.Version, State: o.Attributes, Private: o.Private, Identity: o.Identity,
		IdentityVersion: o.IdentityVersion, Tainted: o.Tainted}}
	return k.bytes()
}

// fit removes values that the provider does not accept in the configuration of a resource.
func (a *adoption) fit(m *meta, p *program, r *adopt.Resource) error {
	attributes, note, err := fit(m, r.Attributes, r.Optional,
		func(attributes map[string]any) (refused, err error) { return a.validate(m, p, attributes) })
	if err != nil {
		return err
	}
	r.Attributes = attributes
	if note != "" {
		r.Notes = append(r.Notes, note)
	}
	return nil
}

// validate returns the reason why a configuration is not valid, or nil.
func (a *adoption) validate(m *meta, p *program, attributes map[string]any) (refused, err error) {
	ty, err := p.compiled("resource", m.theirs)
	if err != nil {
		return nil, err
	}
	config, err := ty.FromAttributes(m.configured(attributes))
	if err != nil {
		return m.invalid(err), nil
	}
	v, err := encode(ty, config)
	if err != nil {
		return nil, err
	}
	err = a.do(m, p, func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		return c.ValidateResource(ctx, m.theirs, v)
	})
	var f *failure
	if errors.As(err, &f) {
		return f, nil
	}
	return nil, err
}
