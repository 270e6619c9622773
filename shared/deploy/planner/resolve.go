package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// A model: all references of an export get values, and its resources and agents become entries.

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

// agentSet is the agents of a version.
type agentSet struct {
	list   []resource.Agent // sorted by name
	byName map[string]resource.Agent
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
	out, err := p.resolveAndEncode(ctx, m, refs, known, agents, keep)
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

// resolveAndEncode resolves refs, the references of the resources of a model, in place, except for
// kept resources. It completes the resources from each other, and encodes them.
func (p *resolver) resolveAndEncode(
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
		r.Attributes, r.Followed = attrs, p.pl.followedAttributes(ctx, r, known)
		out.unsettled = out.unsettled || len(ps) == 0 && !p.pl.Checker.MeansTheSame(&was, r)
	}
	if len(problems) > 0 {
		return out, problems.Err()
	}
	out.files = slices.Sorted(maps.Keys(files))
	p.pl.Checker.Gather(&model.Model{Resources: m.Resources, Agents: agents.list})
	var err error
	out.entries, err = version.NewEntries(m.Resources, agents.byName, keep.entry)
	return out, err
}

// optionsRefer reports whether the options of agents hold references.
func optionsRefer(agents []resource.Agent) bool {
	return slices.ContainsFunc(agents, func(a resource.Agent) bool {
		return len(resource.References(a.Options)) > 0
	})
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
			err = known.checkPaths(options)
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
	out.list = slices.SortedFunc(maps.Values(out.byName), compareNames)
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
