package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// checkOwned refuses a partial export that replaces or deletes resource sets of another owner.
func (p *exporting) checkOwned(ctx context.Context, x Export) error {
	if !x.Partial || x.Owner {
		return nil
	}
	owned, err := p.pl.ownedOf(ctx, p.env.Name, slices.Concat(x.sets, x.DeleteSets))
	if err != nil || len(owned) == 0 {
		return err
	}
	problems := refuseOwned(x.Model, owned, "choose another set; what the instance has is changed "+
		"by `southbound service update %s`")
	for _, set := range x.DeleteSets {
		if owned[set] {
			problems.Add(ofInstance(set, "delete the instance: `southbound service delete %s`"))
		}
	}
	return problems.Err()
}

// refuseOwned returns a problem for each set of another owner in a model, at its first resource.
func refuseOwned(m *model.Model, owned map[string]bool, hint string) diag.Problems {
	var problems diag.Problems
	seen := map[string]bool{}
	for i := range m.Resources {
		r := &m.Resources[i]
		if !owned[r.Set] || seen[r.Set] {
			continue
		}
		seen[r.Set] = true
		p := ofInstance(r.Set, hint)
		p.Pos, p.Resource = m.At(i, "set"), string(r.ID)
		problems.Add(p)
	}
	return problems
}

// hintKept is the hint for a set of another owner in a model whose other resources stay.
const hintKept = "leave its resources out: what the instance has stays as it is without them, and is " +
	"changed by `southbound service update %s`"

// ofInstance returns the problem that a set belongs to an instance; hint has a verb for its name.
func ofInstance(set, hint string) diag.Problem {
	return diag.Problem{
		Message: fmt.Sprintf("set %q is that of an instance of a service", set),
		Hint:    fmt.Sprintf(hint, set),
	}
}

// ownedOf returns the sets among some resource sets that belong to another owner.
func (pl *Planner) ownedOf(
	ctx context.Context, env string, sets []string,
) (map[string]bool, error) {
	live, _, err := pl.ownersOf(ctx, env, sets)
	out := make(map[string]bool, len(live))
	for _, set := range live {
		out[set] = true
	}
	return out, err
}

// ownersOf returns the sets among some resource sets that belong to another owner (live), or did
// (gone).
func (pl *Planner) ownersOf(
	ctx context.Context, env string, sets []string,
) (live, gone []string, err error) {
	if pl.Owned == nil || len(sets) == 0 {
		return nil, nil, nil
	}
	live, gone, err = pl.Owned(ctx, env, sets)
	return live, gone, fault.Wrap(fault.Unknown, "list owned resource sets", err)
}

// MayRelease returns the reason why the release of a version would be refused, and changes nothing.
func (pl *Planner) MayRelease(ctx context.Context, env string, number int) error {
	stored, err := pl.State.Env(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	v, err := pl.Client.FindVersion(ctx, stored, number)
	if err != nil {
		return err
	}
	return pl.keepsOwned(ctx, stored, v)
}

// Codes of problems with instances of services, for which the release of a version is refused.
const (
	// CodeInstanceChanged: the version has other resources of the instance than the one in force.
	CodeInstanceChanged = "instance_changed"
	// CodeInstanceMissing: the version does not have the instance.
	CodeInstanceMissing = "instance_missing"
	// CodeInstanceDeleted: the version has resources of an instance that is deleted.
	CodeInstanceDeleted = "instance_deleted"
)

// keepsOwned refuses the release of a version with other resources in the sets of other owners,
// since these owners would not learn of the change. It also refuses a version that would restore
// sets of deleted owners, since no owner would manage these. The last version holds the latest
// exports of all owners.
func (pl *Planner) keepsOwned(ctx context.Context, env state.Env, v state.Version) error {
	if env.Released == 0 || v.Number == env.Last {
		return nil
	}
	old, err := pl.Client.Version(ctx, env, env.Released)
	if err != nil {
		return err
	}
	sets := append(slices.Clone(old.Sets), v.Sets...)
	slices.Sort(sets)
	live, gone, err := pl.ownersOf(ctx, env.Name, slices.Compact(sets))
	gone = slices.DeleteFunc(gone, func(set string) bool { return !hasSet(&v, set) })
	if err != nil || len(live)+len(gone) == 0 {
		return err
	}
	differ, err := pl.differingSets(ctx, old, v)
	var problems diag.Problems
	for _, set := range live {
		if differ[set] {
			problems.Add(ofLive(set, &v))
		}
	}
	for _, set := range gone {
		if differ[set] {
			problems.Add(ofGone(set, &v))
		}
	}
	return cmp.Or(err, problems.Err())
}

// hasSet reports whether a version has a resource set.
func hasSet(v *state.Version, set string) bool {
	_, has := slices.BinarySearch(v.Sets, set)
	return has
}

// hintApply is the end of the hints of a refused release.
const hintApply = ", or export the model as it was then by `southbound apply`, which leaves " +
	"instances as they are"

// ofLive returns the problem that a version does not have an instance as it is now.
func ofLive(set string, v *state.Version) diag.Problem {
	p := diag.Problem{Instance: set, Code: CodeInstanceChanged,
		Message: fmt.Sprintf("version %d has it with other resources, and a release does not "+
			"change instances", v.Number),
		Hint: "change it back by `southbound service update " + set + "`" + hintApply}
	if !hasSet(v, set) {
		p.Code = CodeInstanceMissing
		p.Message = fmt.Sprintf("version %d does not have it, and a release does not delete "+
			"instances", v.Number)
		p.Hint = "delete it by `southbound service delete " + set + "`" + hintApply
	}
	return p
}

// ofGone returns the problem that a version would bring back a deleted instance.
func ofGone(set string, v *state.Version) diag.Problem {
	return diag.Problem{Instance: set, Code: CodeInstanceDeleted,
		Message: fmt.Sprintf("it is deleted, and version %d has its resources; a release does not "+
			"bring instances back", v.Number),
		Hint: "order it again by `southbound service create`" + hintApply}
}

// differingSets returns the resource sets in which two versions differ.
func (pl *Config) differingSets(
	ctx context.Context, a, b state.Version,
) (map[string]bool, error) {
	shared := version.SharedChunks(a.Chunks, b.Chunks)
	of, err := version.ReadChunks(ctx, pl.Files, version.Without(a.Chunks, shared))
	if err != nil {
		return nil, err
	}
	to, err := version.ReadChunks(ctx, pl.Files, version.Without(b.Chunks, shared))
	if err != nil {
		return nil, err
	}
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
	return out, cmp.Or(note(of, to), note(to, of))
}

// hintOwned is the hint for a resource in a set of another owner.
const hintOwned = "an instance of a service has it: delete that first, or leave the resource out"

// hasOwned returns the problem that resource i of a model is in a set of another owner.
func hasOwned(m *model.Model, i int, set string) diag.Problem {
	p := isElsewhere(m, i, set)
	p.Pos, p.Hint = m.At(i, ""), hintOwned
	return p
}

// isElsewhere returns the problem that the base has resource i of a model in a set that stays.
func isElsewhere(m *model.Model, i int, set string) diag.Problem {
	return diag.Problem{Pos: m.At(i, "set"), Resource: string(m.Resources[i].ID),
		Message: fmt.Sprintf("the resource is in %s, which this export does not replace",
			model.SetText(set))}
}

// ownedIn returns the version whose sets of other owners a whole export keeps, and these sets. A
// model that has such a set itself is refused.
func ownedIn(
	ctx context.Context, p *planning, x Export, last state.Version,
) (state.Version, map[string]bool, error) {
	if p.pl.Owned == nil {
		return state.Version{}, nil, nil
	}
	base, err := baseOf(ctx, p, x, last)
	if err != nil {
		return state.Version{}, nil, err
	}
	sets := slices.Concat(base.Sets, x.sets)
	slices.Sort(sets)
	owned, err := p.pl.ownedOf(ctx, p.env.Name, slices.Compact(sets))
	if err != nil {
		return state.Version{}, nil, err
	}
	return base, owned, refuseOwned(x.Model, owned, hintKept).Err()
}
