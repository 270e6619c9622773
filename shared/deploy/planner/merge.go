package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// partialEdit returns the edit of a partial export. It puts the model, and drops all other resources of
// the sets that the model has or deletes. A resource of the shared set that is described again
// stays, and may get requirements.
func partialEdit(
	ctx context.Context, p *planning, x Export, last state.Version,
) (*edit, error) {
	base, err := baseOf(ctx, p, x, last)
	if err != nil {
		return nil, err
	}
	e, err := readBase(ctx, p, base)
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	for _, s := range slices.Concat(x.sets, x.DeleteSets) {
		replaced[s] = true
	}
	if x.KeepShared {
		x.Model = withoutShared(x.Model, e.was, replaced)
	}
	if problems := checkDescribedOver(x.Model, base, true); len(problems) > 0 {
		return nil, problems.Err()
	}
	put := *x.Model
	put.Resources = slices.Clone(put.Resources)
	e.Put, e.Agents = &put, MergeAgents(base.Agents, put.Agents)
	for _, a := range base.Agents {
		e.kept.agents[a.Name] = true
	}
	for _, a := range put.Agents {
		delete(e.kept.agents, a.Name)
	}
	return e, (&merger{pl: p.pl, env: p.env.Name, edit: e, replaced: replaced, owner: x.Owner}).merge(ctx)
}

// withoutShared returns a model without resources of no set that the base already has, unless the
// base has them in a set that is replaced.
func withoutShared(m *model.Model, base version.Base, replaced map[string]bool) *model.Model {
	var at []int
	for i := range m.Resources {
		r := &m.Resources[i]
		if old := base[r.ID]; old == nil || r.Set != "" || replaced[old.Set] {
			at = append(at, i)
		}
	}
	out := *m
	return withResources(&out, m, at)
}

// merger is the working state of one call of partialEdit.
type merger struct {
	pl  *Planner
	env string
	*edit
	replaced  map[string]bool
	owner     bool
	conflicts []conflict
}

// merge drops the resources of the base that do not stay, and checks that the model changes only
// resources that it may change.
func (mg *merger) merge(ctx context.Context) error {
	index := indexOf(mg.Put)
	for id, old := range mg.was {
		if _, again := index[id]; !again && old.Set != "" && mg.replaced[old.Set] {
			mg.Drop[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(mg.was)) {
		if i, again := index[id]; again {
			mg.describe(i, mg.was[id])
		} else if !mg.Drop[id] {
			mg.keep(mg.was[id])
		}
	}
	return mg.reportConflicts(ctx)
}

// describe handles resource i of the model, which is in the base as well.
func (mg *merger) describe(i int, old *resource.Resource) {
	r := &mg.Put.Resources[i]
	switch {
	case old.Set == "" && r.Set == "":
		if !sameIntent(r, old) {
			p := diag.Problem{Pos: mg.Put.At(i, ""), Resource: string(r.ID),
				Message: "a partial export may not change a resource of the shared set",
				Hint:    "export the whole model, or put the resource into a set"}
			if mg.owner { // the user who reads this has not run an export
				p.Message, p.Hint = "it belongs to no instance, and the model describes it in "+
					"another way than it is deployed: an order does not change it, `southbound "+
					"apply` of the model does", ""
			}
			mg.problems.Add(p)
			return
		}
		r.Requires = slices.Concat(r.Requires, mg.Requires(mg.pl.Checker, mg.was, old))
		slices.Sort(r.Requires)
		r.Requires = slices.Compact(r.Requires)
		r.Attributes, r.Followed = old.Attributes, old.Followed // references may have values
		mg.keep(r)
	case old.Set != r.Set && !mg.replaced[old.Set]:
		mg.conflicts = append(mg.conflicts, conflict{i, old.Set})
	}
}

// conflict is a resource of the model that the base has in a set that is not replaced.
type conflict struct {
	i   int
	set string
}

// reportConflicts refuses resources in sets that are not replaced.
func (mg *merger) reportConflicts(ctx context.Context) error {
	var sets []string
	for _, t := range mg.conflicts {
		if t.set != "" {
			sets = append(sets, t.set)
		}
	}
	owned, err := mg.pl.ownedOf(ctx, mg.env, sets)
	for _, t := range mg.conflicts {
		p := isElsewhere(mg.Put, t.i, t.set)
		if p.Hint = moveHint(t.set); owned[t.set] {
			p.Hint = hintOwned
		}
		mg.problems.Add(p)
	}
	return err
}

// moveHint returns the hint for moving a resource out of a set that a partial export does not
// replace.
func moveHint(set string) string {
	if set == "" {
		return "export the whole model with it, as parts only add to the shared set"
	}
	return fmt.Sprintf("export set %q too, or delete it with --delete-set", set)
}

// keep records that a resource is as the base has it. A resource that is completed from others may
// have got references of these.
func (mg *merger) keep(r *resource.Resource) {
	if !mg.pl.Checker.Gathers(r) {
		mg.kept.resources[r.ID] = true
	}
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
