package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The values of references: parameters, facts and the versions of secret outputs, as far as they are
// known.

// values holds known parameters, facts and versions of secret outputs for resolving references.
type values struct {
	known    map[state.ParameterKey]resource.Data
	outputs  map[resource.ID]string // by the resources that have outputs
	volatile bool
	pinned   bool // secrets keep the versions that they have
}

// readValues reads the parameters, facts and versions of secret outputs that refs name.
func (pl *Config) readValues(ctx context.Context, env string, refs []any) (*values, error) {
	out := &values{known: map[state.ParameterKey]resource.Data{}}
	var params, facts []state.ParameterKey
	var outputs []resource.ID
	for _, ref := range refs {
		switch r := ref.(type) {
		case resource.Parameter:
			params = append(params, state.ParameterKey{Name: r.Name})
		case resource.Fact:
			facts = append(facts, state.ParameterKey{Name: r.Key(), Of: r.Of})
		case resource.Secret:
			out.volatile = true
			if o, is := r.Output(); is {
				outputs = append(outputs, o.Of)
			}
		}
	}
	out.volatile = out.volatile || len(params)+len(facts) > 0
	for _, q := range []state.ParameterQuery{{Keys: params}, {Keys: facts, Facts: true}} {
		if len(q.Keys) == 0 {
			continue
		}
		ps, err := pl.State.Parameters(ctx, env, q)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read parameters", err)
		}
		for i := range ps {
			out.known[state.ParameterKey{Name: ps[i].Name, Of: ps[i].Of}] = ps[i].Data()
		}
	}
	if len(outputs) == 0 {
		return out, nil
	}
	slices.Sort(outputs)
	var err error
	out.outputs, err = pl.State.KeptOutputs(ctx, env, slices.Compact(outputs))
	return out, fault.Wrap(fault.Unknown, "read versions of outputs", err)
}

// none reports whether no value is known.
func (v *values) none() bool { return len(v.known)+len(v.outputs) == 0 }

// withoutFacts returns the values without those of facts.
func (v *values) withoutFacts() *values {
	out := *v
	out.known = maps.Clone(v.known)
	maps.DeleteFunc(out.known, func(k state.ParameterKey, _ resource.Data) bool { return k.Of != "" })
	return &out
}

// checkPaths returns the reason why a path into a known fact, to which v refers, leads nowhere; nil if
// there is none. The error is fault.NotFound.
func (v *values) checkPaths(in any) error {
	for _, ref := range resource.References(in) {
		f, is := ref.(resource.Fact)
		if !is {
			continue
		}
		if data, known := v.known[state.ParameterKey{Name: f.Key(), Of: f.Of}]; known {
			if _, err := f.In(data.Value()); err != nil {
				return fault.Wrap(fault.NotFound, model.FactText(f), err)
			}
		}
	}
	return nil
}

// resolver gives the references of resources and agents their values, as far as they are known. It
// changes no plan.
type resolver struct {
	pl *Planner
	// lookup reads the known values of references.
	lookup func(ctx context.Context, refs []any) (*values, error)
}

// resolver returns a resolver with the stored values and those that the planned commit changes.
func (p *planning) resolver() *resolver {
	return &resolver{p.pl, func(ctx context.Context, refs []any) (*values, error) {
		out, err := p.pl.readValues(ctx, p.env.Name, refs)
		if err != nil {
			return nil, err
		}
		for i := range p.store.set {
			set := &p.store.set[i]
			out.known[state.ParameterKey{Name: set.Name, Of: set.Of}] = set.Data()
		}
		for _, k := range p.store.unset {
			delete(out.known, k)
		}
		return out, nil
	}}
}
