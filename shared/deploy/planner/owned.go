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
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// withOwned returns the model of a whole export with the resource sets that belong to others, as
// they are in the version before it, and the number of that version; 0 if nothing was taken from
// it.
func (p *exporting) withOwned(
	ctx context.Context, x Export, last state.Version,
) (*model.Model, int, error) {
	if p.pl.Owned == nil {
		return x.Model, 0, nil
	}
	base, err := p.base(ctx, last)
	if err != nil {
		return nil, 0, err
	}
	sets := slices.Clone(base.Sets)
	for _, s := range setsOf(x.Model.Resources) {
		sets = slices.DeleteFunc(sets, func(o string) bool { return o == s })
	}
	if len(sets) == 0 {
		return x.Model, 0, nil
	}
	owned, err := p.pl.Owned(ctx, p.env.Name, sets)
	if err != nil || len(owned) == 0 {
		return x.Model, 0, fault.Wrap(fault.Unknown, "list owned resource sets", err)
	}
	m, err := p.carryOwned(ctx, x.Model, base, owned)
	return m, base.Number, err
}

// carryOwned puts the sets of others into a model.
func (p *exporting) carryOwned(
	ctx context.Context, of *model.Model, base state.Version, owned []string,
) (*model.Model, error) {
	entries, err := version.ReadChunks(ctx, p.pl.Files, base.Chunks)
	if err != nil {
		return nil, err
	}
	mine := len(of.Resources)
	at := func(i int, attribute string) diag.Pos {
		if i < mine {
			return of.At(i, attribute)
		}
		return diag.Pos{}
	}
	out := &model.Model{
		Resources: slices.Clone(of.Resources), Files: of.Files, Where: at,
		Agents: mergeAgents(base.Agents, of.Agents), Fingerprint: of.Fingerprint,
	}
	byID := make(map[resource.ID]int, mine)
	for i := range of.Resources {
		byID[of.Resources[i].ID] = i
	}
	var problems diag.Problems
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		old, err := resource.Decode(entries[id].Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		if old.Set == "" || !slices.Contains(owned, old.Set) {
			continue
		}
		if i, again := byID[id]; again {
			problems.Add(diag.Problem{
				Pos: of.At(i, ""), Resource: string(id),
				Message: fmt.Sprintf("the resource is in %s, which this export does not replace",
					model.SetText(old.Set)),
				Hint: "an instance of a service has it: delete that first, or leave the resource " +
					"out",
			})
			continue
		}
		byID[id] = len(out.Resources)
		out.Resources = append(out.Resources, *old)
	}
	c := p.pl.Checker
	c.Relate(out.Resources, byID)
	problems = append(problems, c.CheckThings(out.Resources, mine, at)...)
	problems = append(problems, c.CheckReach(out, true)...)
	problems = append(problems, c.CheckThere(out.Resources, at)...)
	problems = append(problems, c.CheckCycles(out.Resources, at)...)
	return out, problems.Err()
}
