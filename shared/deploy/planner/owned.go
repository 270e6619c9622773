package planner

import (
	"cmp"
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

// checkOwned refuses a partial export that replaces or deletes resource sets of others than who
// asks for it.
func (p *exporting) checkOwned(ctx context.Context, x Export) error {
	if !x.Partial || x.Owner {
		return nil
	}
	owned, err := p.pl.ownedOf(ctx, p.env.Name, append(setsOf(x.Model.Resources), x.DeleteSets...))
	if err != nil || len(owned) == 0 {
		return err
	}
	var problems diag.Problems
	refuse := func(pos diag.Pos, id resource.ID, set, hint string) {
		problems.Add(diag.Problem{
			Pos: pos, Resource: string(id), Hint: fmt.Sprintf(hint, set),
			Message: fmt.Sprintf("set %q is that of an instance of a service", set),
		})
	}
	for i := range x.Model.Resources {
		if r := &x.Model.Resources[i]; slices.Contains(owned, r.Set) {
			refuse(x.Model.At(i, "set"), r.ID, r.Set,
				"choose another set; what the instance has is changed by "+
					"`southbound service update %s`")
		}
	}
	for _, set := range x.DeleteSets {
		if slices.Contains(owned, set) {
			refuse(diag.Pos{}, "", set, "delete the instance: `southbound service delete %s`")
		}
	}
	return problems.Err()
}

// ownedOf returns those of some resource sets that belong to others.
func (pl *Planner) ownedOf(ctx context.Context, env string, sets []string) ([]string, error) {
	if pl.Owned == nil || len(sets) == 0 {
		return nil, nil
	}
	owned, err := pl.Owned(ctx, env, sets)
	return owned, fault.Wrap(fault.Unknown, "list owned resource sets", err)
}

// keepsOwned refuses the release of a version that has the resource sets of others not as they are
// now: nobody would tell these. The last version has what they have had exported last.
func (p *releasing) keepsOwned(
	ctx context.Context, v state.Version, entries map[resource.ID]version.Entry,
) error {
	if p.env.Released == 0 || v.Number == p.env.Last {
		return nil
	}
	old, err := p.pl.Client.Version(ctx, p.was, p.env.Released)
	if err != nil {
		return err
	}
	sets := append(slices.Clone(old.Sets), v.Sets...)
	slices.Sort(sets)
	owned, err := p.pl.ownedOf(ctx, p.env.Name, slices.Compact(sets))
	if err != nil || len(owned) == 0 {
		return err
	}
	now, err := version.ReadChunks(ctx, p.pl.Files, old.Chunks)
	if err != nil {
		return err
	}
	others, err := differingSets(now, entries)
	var problems diag.Problems
	for _, set := range owned {
		if others[set] {
			problems.Add(diag.Problem{
				Message: fmt.Sprintf("set %q is that of an instance of a service, and version %d "+
					"does not have it as it is now", set, v.Number),
				Hint: "export the model as it was then, by `southbound apply`: that leaves what " +
					"instances have",
			})
		}
	}
	return cmp.Or(err, problems.Err())
}

// differingSets returns the resource sets in which two versions differ.
func differingSets(a, b map[resource.ID]version.Entry) (map[string]bool, error) {
	out := map[string]bool{}
	note := func(in, other map[resource.ID]version.Entry) error {
		for id, en := range in {
			if same, has := other[id]; has && same.Same(&en) {
				continue
			}
			r, err := resource.Decode(en.Body)
			if err != nil {
				return fault.Wrap(fault.Damaged, "read version", err)
			}
			out[r.Set] = true
		}
		return nil
	}
	return out, cmp.Or(note(a, b), note(b, a))
}

// hintOwned says what to do about a resource that a set of another owner has.
const hintOwned = "an instance of a service has it: delete that first, or leave the resource out"

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
	owned, err := p.pl.ownedOf(ctx, p.env.Name, sets)
	if err != nil || len(owned) == 0 {
		return x.Model, 0, err
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
				Hint: hintOwned,
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
