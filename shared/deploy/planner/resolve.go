package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// intents is a model whose references have been resolved as far as they can be.
type intents struct {
	entries   []version.Entry // sorted by id
	resources []resource.Resource
	agents    []resource.Agent
	files     []string
	// volatile means that the same documents may have another meaning at the next export.
	volatile bool
	// unsettled means that a resource manages another thing, or has other relations, now that its
	// references have values.
	unsettled bool
	kept      kept
}

// kept is the part of a model that is unchanged from the version into which it was merged: its
// references are not resolved again. If a value became known after that version, the row has it.
type kept struct {
	resources map[resource.ID]bool
	agents    map[string]bool
	// entry returns the entry of a kept resource at an agent, if its intent is unchanged; nil: none
	// is known
	entry func(*resource.Resource, resource.Agent) (version.Entry, bool)
}

// values holds known parameters, facts and versions of secret outputs for resolving references.
type values struct {
	known    map[state.ParameterKey]resource.Data
	outputs  map[resource.ID]string // by the resources that have outputs
	volatile bool
	pinned   bool // secrets keep the versions that they have
}

// lookup reads the parameters, facts and versions of secret outputs that refs name.
func (pl *Config) lookup(ctx context.Context, env string, refs []any) (*values, error) {
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
		out, err := p.pl.lookup(ctx, p.env.Name, refs)
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

// resolveModel resolves the references of a model in place, except for kept resources, and encodes
// its resources.
func (p *resolver) resolveModel(
	ctx context.Context, m *model.Model, keep kept,
) (intents, error) {
	known, refs, err := p.references(ctx, m, keep)
	if err != nil {
		return intents{}, err
	}
	agents, problems := p.resolveAgents(ctx, m, known, keep.agents)
	out, err := p.resolveResources(ctx, m, refs, known, agents, keep)
	if err == nil && len(problems) == 0 && (out.unsettled || optionsRefer(m.Agents)) {
		// the values of the references are known now
		problems = p.pl.Checker.CheckThings(m.Resources, len(m.Resources),
			model.TargetsOf(agents.list, true), m.At)
	}
	if more := (diag.Problems)(nil); errors.As(err, &more) || len(problems) > 0 {
		return intents{}, append(problems, more...).Err()
	}
	return out, err
}

// references returns the references of each resource of a model, and the known values of all
// references but those of kept resources.
func (p *resolver) references(
	ctx context.Context, m *model.Model, keep kept,
) (*values, [][]any, error) {
	refs := make([][]any, len(m.Resources))
	var all []any
	for i := range m.Resources {
		for _, v := range m.Resources[i].Attributes {
			refs[i] = append(refs[i], resource.References(v)...)
		}
		if !keep.resources[m.Resources[i].ID] {
			all = append(all, refs[i]...)
		}
	}
	for _, a := range m.Agents {
		if !keep.agents[a.Name] {
			all = append(all, resource.References(a.Options)...)
		}
	}
	p.pl.prefetchVersions(ctx, all)
	known, err := p.lookup(ctx, all)
	return known, refs, err
}

// optionsRefer reports whether the options of agents hold references.
func optionsRefer(agents []resource.Agent) bool {
	return slices.ContainsFunc(agents, func(a resource.Agent) bool {
		return len(resource.References(a.Options)) > 0
	})
}

// resolveResources is resolveEach, and also completes and encodes the resources of a whole model.
func (p *resolver) resolveResources(
	ctx context.Context,
	m *model.Model,
	refs [][]any,
	known *values,
	agents agentSet,
	keep kept,
) (intents, error) {
	out, err := p.resolveEach(ctx, m, refs, known, agents, keep)
	if err != nil {
		return out, err
	}
	p.pl.Checker.Gather(&model.Model{Resources: m.Resources, Agents: agents.list})
	out.entries, err = version.NewEntries(m.Resources, agents.byName, keep.entry)
	return out, err
}

// resolveEach resolves refs, the references of the resources of a model, in place, except for kept
// resources.
func (p *resolver) resolveEach(
	ctx context.Context,
	m *model.Model,
	refs [][]any,
	known *values,
	agents agentSet,
	keep kept,
) (intents, error) {
	out := intents{agents: agents.list, volatile: known.volatile, kept: keep}
	var problems diag.Problems
	files := map[string]bool{}
	for i := range m.Resources {
		r := &m.Resources[i]
		if len(refs[i]) == 0 {
			continue
		}
		for _, ref := range refs[i] {
			if f, ok := ref.(resource.File); ok {
				files[f.Hash] = true
			}
		}
		if keep.resources[r.ID] {
			continue
		}
		attrs, ps := p.pl.resolveAttributes(ctx, r, known)
		if len(ps) > 0 {
			// values of facts that do not fit are no errors of the documents
			attrs, ps = p.pl.resolveAttributes(ctx, r, known.withoutFacts())
		}
		for _, q := range ps {
			q.Pos = m.At(i, q.Attribute)
			problems.Add(q)
		}
		was := *r
		r.Attributes, r.Followed = attrs, p.pl.followed(ctx, r, known)
		out.unsettled = out.unsettled || len(ps) == 0 && !p.pl.Checker.MeansTheSame(&was, r)
	}
	if len(problems) > 0 {
		return out, problems.Err()
	}
	for h := range files {
		out.files = append(out.files, h)
	}
	slices.Sort(out.files)
	return out, nil
}

// agentSet is the agents of a version.
type agentSet struct {
	list   []resource.Agent // sorted by name
	byName map[string]resource.Agent
}

// resolveAgents resolves the options of the agents of a model, except for kept agents. It adds
// agents that only resources name; these are local.
func (p *resolver) resolveAgents(
	ctx context.Context,
	m *model.Model,
	known *values,
	keep map[string]bool,
) (agentSet, diag.Problems) {
	var problems diag.Problems
	out := agentSet{byName: map[string]resource.Agent{}}
	for _, a := range m.Agents {
		if keep[a.Name] {
			out.byName[a.Name] = a
			continue
		}
		options, err := p.pl.resolveValue(ctx, a.Options, known)
		if err == nil {
			err = known.nowhere(options)
		}
		if missing := model.Missing(options); err == nil && len(missing) > 0 {
			err = fmt.Errorf("%s is not known", missing[0])
		}
		if err != nil {
			problems.Add(diag.Problem{
				Pos:     m.AtAgent(a.Name),
				Message: fmt.Sprintf("agent %q: %v", a.Name, err),
				Hint:    cmp.Or(fault.HintOf(err), optionHint(options)),
			})
			continue
		}
		a.Options, _ = options.(map[string]any)
		a.Lanes, a.Described = max(a.Lanes, 1), true
		out.byName[a.Name] = a
	}
	for i := range m.Resources {
		name := m.Resources[i].Agent
		if _, ok := out.byName[name]; !ok {
			out.byName[name] = resource.Agent{Name: name, Transport: "local", Lanes: 1}
		}
	}
	for _, a := range out.byName {
		out.list = append(out.list, a)
	}
	slices.SortFunc(
		out.list,
		func(a, b resource.Agent) int { return strings.Compare(a.Name, b.Name) },
	)
	return out, problems
}

// optionHint returns the hint for options of an agent with unknown values.
func optionHint(options any) string {
	for _, ref := range resource.References(options) {
		if p, ok := ref.(resource.Parameter); ok {
			if _, none := p.Unknown(); none {
				return "see to it that the model knows it where it is compiled"
			}
			break
		}
	}
	return "set it first: southbound parameter set NAME VALUE"
}

// resolveRef replaces a known parameter or fact by its value and gives a secret its version, a secret
// output if it is known; any other reference stays as it is.
func (pl *Config) resolveRef(ctx context.Context, ref any, known *values) (any, error) {
	switch r := ref.(type) {
	case resource.Parameter:
		if _, none := r.Unknown(); none {
			return ref, nil
		}
		if v, ok := known.known[state.ParameterKey{Name: r.Name}]; ok {
			return v.Value(), nil
		}
	case resource.Fact:
		if v, ok := known.known[state.ParameterKey{Name: r.Key(), Of: r.Of}]; ok {
			if part, err := r.In(v.Value()); err == nil {
				return part, nil
			}
		}
	case resource.Secret:
		if o, is := r.Output(); is {
			r.Version = known.outputs[o.Of]
			return r, nil
		}
		if known.pinned {
			return ref, nil
		}
		return pl.secretVersion(ctx, r), nil
	}
	return ref, nil
}

// resolveValue returns a value in which the references to known values are replaced.
func (pl *Config) resolveValue(ctx context.Context, v any, known *values) (any, error) {
	of := func(ref any) (any, error) { return pl.resolveRef(ctx, ref, known) }
	return resource.WalkParts(v, of, func(ref any) (any, error) {
		out, err := of(ref)
		if fact, is := ref.(resource.Fact); is && err == nil && !resource.FitsText(out) {
			return nil, fault.New(fault.Invalid, "", "%s is %s, which cannot stand inside a text",
				model.FactText(fact), resource.KindOf(out)).
				WithHint("continue its path to a text, a number or a boolean")
		}
		return out, err
	})
}

// resolveAttributes returns the attributes of r with resolved references, and the problems of their
// values. A resource that is to be purged needs no attributes but those by which its handler finds the
// object, so it does not wait for others.
func (pl *Config) resolveAttributes(
	ctx context.Context,
	r *resource.Resource,
	known *values,
) (map[string]any, []diag.Problem) {
	var problems []diag.Problem
	t, _ := pl.Checker.Type(r)
	out := make(map[string]any, len(r.Attributes))
	for name, v := range r.Attributes {
		resolved, err := pl.resolveValue(ctx, v, known)
		if err != nil {
			problems = append(problems, diag.Problem{Resource: string(r.ID), Attribute: name,
				Message: err.Error(), Hint: fault.HintOf(err)})
			continue
		}
		switch v.(type) {
		case resource.Parameter, resource.Fact, resource.Text:
			resolved = coerce(t, name, resolved)
		}
		if r.Purged && !findsObject(t, name) && awaits(resolved) {
			continue
		}
		out[name] = resolved
	}
	if t != nil && len(problems) == 0 {
		_, problems = model.CheckAttributes(t, out, r.Purged)
		for i := range problems {
			problems[i].Resource = string(r.ID)
			explainFact(t, &problems[i], r.Written().Attributes[problems[i].Attribute],
				out[problems[i].Attribute])
		}
	}
	return out, problems
}

// findsObject reports whether a handler may find an object by an attribute.
func findsObject(t *schema.Compiled, name string) bool {
	if t == nil {
		return true
	}
	a, known := t.Attribute(name)
	return !known || a.Behaviour == schema.Namevar || a.Behaviour == schema.Parameter
}

// awaits reports whether a value lacks facts or secret outputs, and nothing else.
func awaits(v any) bool {
	lacks := false
	for _, ref := range resource.References(v) {
		if len(model.Missing(ref)) == 0 {
			continue
		}
		if !resource.IsFollowed(ref) {
			return false
		}
		lacks = true
	}
	return lacks
}

// lacksValues reports whether values of a resource are not known, or were left out because of that.
func lacksValues(r *resource.Resource) bool {
	return len(model.Missing(r.Attributes)) > 0 || len(r.Attributes) < len(r.Written().Attributes)
}

// valued returns a resource of a version with the values of its references, as far as they are known.
// misfit is the reason why these values do not let the resource run: a path into a fact leads nowhere,
// or a value does not fit its attribute; "" if there is none.
func (pl *Planner) valued(
	ctx context.Context, written *resource.Resource, known *values,
) (now *resource.Resource, misfit string) {
	attrs, problems := pl.resolveAttributes(ctx, written, known)
	out := *written
	out.Attributes, out.Followed = attrs, pl.followed(ctx, written, known)
	if len(problems) > 0 {
		return &out, problemText(&problems[0])
	}
	if err := known.nowhere(out.Attributes); err != nil {
		return &out, problemText(&diag.Problem{Message: err.Error(), Hint: fault.HintOf(err)})
	}
	return &out, ""
}

// followed returns the attributes of r that refer to facts or secret outputs, with values for all
// other references.
func (pl *Planner) followed(
	ctx context.Context, r *resource.Resource, known *values,
) map[string]any {
	var out map[string]any
	for name, v := range r.Written().Attributes {
		if !slices.ContainsFunc(resource.References(v), resource.IsFollowed) {
			continue
		}
		kept, err := resource.Walk(v, func(ref any) (any, error) {
			if resource.IsFollowed(ref) {
				return unversioned(ref), nil
			}
			return pl.resolveRef(ctx, ref, known)
		})
		if err != nil {
			continue // resolveAttributes has returned the problem
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = kept
	}
	return out
}

// unversioned returns a fact or a secret output as a version has it.
func unversioned(ref any) any {
	if s, is := ref.(resource.Secret); is {
		s.Version = ""
		return s
	}
	return ref
}
