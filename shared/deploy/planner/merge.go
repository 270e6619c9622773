package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// merge merges a partial model into the version it is based on. Sets that the model has or deletes
// are replaced, other sets are carried over, and the shared sets are united. It also returns the
// unchanged part of the result.
func (p *exporting) merge(
	ctx context.Context, x Export, base state.Version,
) (*model.Model, kept, error) {
	entries, err := version.ReadChunks(ctx, p.pl.Files, base.Chunks)
	if err != nil {
		return nil, kept{}, err
	}
	replaced := map[string]bool{}
	for _, s := range setsOf(x.Model.Resources) {
		replaced[s] = true
	}
	for _, s := range x.DeleteSets {
		replaced[s] = true
	}
	if x.KeepShared {
		if x.Model, err = withoutShared(x.Model, entries, replaced); err != nil {
			return nil, kept{}, err
		}
	}
	if problems := checkDescribedOver(x.Model, base, true); len(problems) > 0 {
		return nil, kept{}, problems.Err()
	}
	mg := merger{pl: p.pl, x: x, entries: entries, replaced: replaced,
		index: map[resource.ID]int{},
		keep:  kept{resources: map[resource.ID]bool{}, agents: map[string]bool{}}}
	for i := range x.Model.Resources {
		mg.index[x.Model.Resources[i].ID] = i
	}
	out := &model.Model{
		Resources:  slices.Clone(x.Model.Resources),
		Files:      x.Model.Files,
		Where:      x.Model.At,
		Agents:     MergeAgents(base.Agents, x.Model.Agents),
		WhereAgent: x.Model.AtAgent,
	}
	for _, a := range base.Agents {
		mg.keep.agents[a.Name] = true
	}
	for _, a := range x.Model.Agents {
		delete(mg.keep.agents, a.Name)
	}
	if err := mg.carry(out); err != nil {
		return nil, kept{}, err
	}
	if err := mg.reportTaken(ctx, p.env.Name); err != nil {
		return nil, kept{}, err
	}
	byID := make(map[resource.ID]int, len(out.Resources))
	for i := range out.Resources {
		byID[out.Resources[i].ID] = i
	}
	p.pl.Checker.Relate(out.Resources, byID)
	mine := len(x.Model.Resources)
	at := func(i int, a string) diag.Pos {
		if i < mine {
			return x.Model.At(i, a)
		}
		return diag.Pos{}
	}
	mg.problems = append(mg.problems, p.pl.Checker.CheckThings(out.Resources, mine,
		model.TargetsOf(out.Agents, true), at)...)
	mg.problems = append(
		mg.problems,
		p.pl.Checker.CheckReach(
			&model.Model{Resources: out.Resources, Agents: out.Agents, Where: at},
			true,
		)...)
	mg.problems = append(mg.problems, p.pl.Checker.CheckThere(out.Resources, at)...)
	mg.problems = append(mg.problems, p.pl.Checker.CheckCycles(out.Resources, at)...)
	return out, mg.keep, mg.problems.Err()
}

// withoutShared returns a model without resources of no set that the base already has, unless the
// base has them in a set that is replaced.
func withoutShared(
	m *model.Model, entries map[resource.ID]version.Entry, replaced map[string]bool,
) (*model.Model, error) {
	out, at := *m, []int{}
	out.Resources = nil
	for i := range m.Resources {
		r := &m.Resources[i]
		if en, there := entries[r.ID]; there && r.Set == "" {
			old, err := resource.Decode(en.Body)
			if err != nil {
				return nil, fault.Wrap(fault.Damaged, "read version", err)
			}
			if !replaced[old.Set] {
				continue
			}
		}
		out.Resources, at = append(out.Resources, *r), append(at, i)
	}
	out.Where = func(i int, attribute string) diag.Pos { return m.At(at[i], attribute) }
	return &out, nil
}

// merger is the working state of one call of merge.
type merger struct {
	pl       *Planner
	x        Export
	entries  map[resource.ID]version.Entry
	replaced map[string]bool
	index    map[resource.ID]int // of the model's resources
	keep     kept
	taken    []taken
	problems diag.Problems
}

// carry appends the resources of the base that stay to out, and checks that the model changes only
// resources that it may change.
func (mg *merger) carry(out *model.Model) error {
	for _, id := range slices.Sorted(maps.Keys(mg.entries)) {
		old, err := resource.Decode(mg.entries[id].Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read version", err)
		}
		i, again := mg.index[id]
		switch {
		case again:
			mg.redescribed(&out.Resources[i], i, old)
		case old.Set != "" && mg.replaced[old.Set]:
		default:
			old.Requires = mg.prune(old)
			out.Resources = append(out.Resources, *old)
			mg.stays(old)
		}
	}
	return nil
}

// redescribed handles resource i of the model, which is in the base as well.
func (mg *merger) redescribed(r *resource.Resource, i int, old *resource.Resource) {
	switch {
	case old.Set == "" && r.Set == "":
		if !sameIntent(r, old) {
			p := diag.Problem{Pos: mg.x.Model.At(i, ""), Resource: string(r.ID),
				Message: "a partial export may not change a resource of the shared set",
				Hint:    "export the whole model, or put the resource into a set"}
			if mg.x.Owner { // the user who reads this has not run an export
				p.Message, p.Hint = "it belongs to no instance, and the model describes it in "+
					"another way than it is deployed: an order does not change it, `southbound "+
					"apply` of the model does", ""
			}
			mg.problems.Add(p)
			return
		}
		r.Requires = append(r.Requires, mg.prune(old)...)
		slices.Sort(r.Requires)
		r.Requires = slices.Compact(r.Requires)
		r.Attributes = old.Attributes // in which references may have values
		mg.stays(r)
	case old.Set != r.Set && !mg.replaced[old.Set]:
		mg.taken = append(mg.taken, taken{i, old.Set})
	}
}

// taken is a resource of the model that the base has in a set that is not replaced.
type taken struct {
	i   int
	set string
}

// reportTaken refuses resources in sets that are not replaced.
func (mg *merger) reportTaken(ctx context.Context, env string) error {
	var sets []string
	for _, t := range mg.taken {
		if t.set != "" {
			sets = append(sets, t.set)
		}
	}
	owned, err := mg.pl.ownedOf(ctx, env, sets)
	for _, t := range mg.taken {
		hint := toMove(t.set)
		if owned[t.set] {
			hint = hintOwned
		}
		mg.problems.Add(diag.Problem{
			Pos: mg.x.Model.At(t.i, "set"), Hint: hint,
			Resource: string(mg.x.Model.Resources[t.i].ID),
			Message: fmt.Sprintf("the resource is in %s, which this export does not replace",
				model.SetText(t.set)),
		})
	}
	return err
}

// toMove returns the hint for moving a resource out of a set that a partial export does not
// replace.
func toMove(set string) string {
	if set == "" {
		return "export the whole model with it, as parts only add to the shared set"
	}
	return fmt.Sprintf("export set %q too, or delete it with --delete-set", set)
}

// stays records that a resource is as the base has it. A resource that is completed from others may
// have got references of these.
func (mg *merger) stays(r *resource.Resource) {
	if !mg.pl.Checker.Gathers(r) {
		mg.keep.resources[r.ID] = true
	}
}

// prune returns the requirements of a resource of the base. Resources that this export removes are
// left out if old is shared, or if the requirement follows from a type; any other requirement of a
// removed resource stays, to be reported as a problem.
func (mg *merger) prune(old *resource.Resource) []resource.ID {
	return slices.DeleteFunc(slices.Clone(old.Requires), func(id resource.ID) bool {
		gone, known := mg.entries[id]
		if _, again := mg.index[id]; again || !known {
			return false
		}
		r, err := resource.Decode(gone.Body)
		return err == nil && r.Set != "" && mg.replaced[r.Set] &&
			(old.Set == "" || mg.pl.Checker.RequiresByType(old, r))
	})
}

// sameIntent compares a, as an author wrote it, with b, as a version holds it: in b, references may
// have been resolved.
func sameIntent(a, b *resource.Resource) bool {
	if a.Purged != b.Purged || a.ReportOnly != b.ReportOnly ||
		a.PreventDestroy != b.PreventDestroy ||
		len(a.Attributes) != len(b.Attributes) {
		return false
	}
	for name, v := range a.Attributes {
		w, ok := b.Attributes[name]
		if !ok || (len(resource.References(v)) == 0 && !resource.Equal(v, w)) {
			return false
		}
	}
	return true
}

// MergeAgents returns the agents of both lists; an agent of over replaces one of base with the same
// name.
func MergeAgents(base, over []resource.Agent) []resource.Agent {
	out := slices.Clone(over)
	for _, a := range base {
		if !slices.ContainsFunc(over, func(b resource.Agent) bool { return a.Name == b.Name }) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b resource.Agent) int { return strings.Compare(a.Name, b.Name) })
	return out
}
