package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// VersionOf returns a version by its number. It returns NotFound if the version is not stored, or
// has been removed.
func (e *Engine) VersionOf(ctx context.Context, env string, number int) (state.Version, error) {
	stored, err := e.State.Env(ctx, env)
	if err != nil {
		return state.Version{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	return e.client().FindVersion(ctx, stored, number)
}

// Compare returns the planned change of each resource for a transition from one version to another.
// It does not read reality, and of opts it uses only Whole.
func (e *Engine) Compare(
	ctx context.Context,
	env string,
	from, to int,
	opts CompareOptions,
) ([]planner.PlannedChange, error) {
	old, err := e.VersionOf(ctx, env, from)
	if err != nil {
		return nil, err
	}
	now, err := e.VersionOf(ctx, env, to)
	if err != nil {
		return nil, err
	}
	shared := version.SharedChunks(old.Chunks, now.Chunks)
	before, err := version.ReadChunks(ctx, e.Files, version.Without(old.Chunks, shared))
	if err != nil {
		return nil, err
	}
	after, err := version.ReadChunks(ctx, e.Files, version.Without(now.Chunks, shared))
	if err != nil {
		return nil, err
	}
	was, _, err := e.planner().WithValues(ctx, env, version.SortedEntries(before), old.Agents)
	if err != nil {
		return nil, err
	}
	will, misfits, err := e.planner().WithValues(ctx, env, version.SortedEntries(after), now.Agents)
	if err != nil {
		return nil, err
	}
	for i := range was {
		before[was[i].ID] = was[i]
	}
	texts := run.FewTexts(run.TextsOf(ctx, e.Files))
	planned, err := e.planner().CompareEntries(before, will,
		planner.MergeAgents(old.Agents, now.Agents), opts.Whole, texts)
	for i := range planned {
		if why := misfits[planned[i].ID]; why != "" {
			planned[i].Reason = why
		}
	}
	agents := agentChanges(old.Agents, now.Agents)
	recheck(planned, agents)
	sayReached(planned, agents, false)
	return planned, err
}

// Part is a part of the resources of a version, in order of id.
type Part struct {
	Resources []resource.Resource
	Next      int // number of the next part; 0: there is none
}

// VersionPart returns part number n of the resources of a version, counted from 0. A version has
// parts of a few hundred resources. The parts are in no particular order.
func (e *Engine) VersionPart(ctx context.Context, v *state.Version, n int) (Part, error) {
	if n < 0 || n >= len(v.Chunks) {
		return Part{}, nil
	}
	byID, err := version.ReadChunks(ctx, e.Files, v.Chunks[n:n+1])
	if err != nil {
		return Part{}, err
	}
	var out Part
	for _, id := range slices.SortedFunc(maps.Keys(byID), cmp.Compare[resource.ID]) {
		res, err := resource.Decode(byID[id].Body)
		if err != nil {
			return Part{}, fault.Wrap(fault.Damaged, "read version", err)
		}
		out.Resources = append(out.Resources, *res)
	}
	if n+1 < len(v.Chunks) {
		out.Next = n + 1
	}
	return out, nil
}

// VersionListing returns the ids and sets of the resources of a version. A caller must not change it.
func (e *Engine) VersionListing(ctx context.Context, v *state.Version) (*version.Listing, error) {
	return e.lists.Get(ctx, v)
}

// VersionResources returns resources as a version describes them, in the order of their ids. It
// returns NotFound if the version lacks one.
func (e *Engine) VersionResources(
	ctx context.Context, v *state.Version, ids []resource.ID,
) ([]resource.Resource, error) {
	return version.ReadResources(ctx, e.Files, v.Chunks, ids)
}

// VersionResource returns a resource as a version describes it. It returns NotFound if the version
// has no resource with that id.
func (e *Engine) VersionResource(
	ctx context.Context,
	v *state.Version,
	id resource.ID,
) (resource.Resource, error) {
	found, err := e.VersionResources(ctx, v, []resource.ID{id})
	if fault.Is(err, fault.NotFound) {
		return resource.Resource{}, fault.New(fault.NotFound, "read version",
			"version %d has no resource %s", v.Number, id).
			WithHint("`southbound show %d` prints all that it has", v.Number)
	}
	if err != nil {
		return resource.Resource{}, err
	}
	return found[0], nil
}
