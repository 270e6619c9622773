package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
)

// Exports that read their whole base version.

// applyWhole applies an export to all resources of its base version.
func (p *exporting) applyWhole(ctx context.Context, x Export, last state.Version) (next, error) {
	if p.dry || x.Expect != "" || x.Limits != nil { // it may be exported again
		x.Model = x.Model.Clone()
	}
	e, err := editOf(ctx, p.planning, x, last)
	if err != nil {
		return next{}, err
	}
	p.targets = e.targets
	set, err := e.apply(ctx, p.planning)
	if err != nil || p.check {
		return next{}, err
	}
	blobs, sums := version.Chunks(set.entries, p.pl.ChunkSize)
	out := next{sums: sums, entries: set.entries, blobs: blobs, volatile: set.volatile,
		stays: set.kept.resources,
		version: state.Version{Resources: len(set.entries), Agents: set.agents,
			Sets: setsOf(set.resources), Base: e.base.Number, Files: set.files}}
	for _, b := range blobs {
		out.version.Chunks = append(out.version.Chunks, b.Hash)
	}
	if e.base.Number > 0 && e.base.Number == p.env.Released {
		out.base = e.entries
	}
	if x.Partial && !set.unsettled {
		out.contents = version.ContentsOf(p.pl.Checker, model.TargetsOf(set.agents, true),
			set.resources, sums, p.pl.Contents.Get(last.Digest))
	}
	return out, nil
}

// editOf returns the edit that an export makes, given the last version.
func editOf(ctx context.Context, p *planning, x Export, last state.Version) (*edit, error) {
	switch {
	case !x.Target.Empty():
		return targetedEdit(ctx, p, x)
	case x.Partial:
		return partialEdit(ctx, p, x, last)
	}
	return wholeEdit(ctx, p, x, last)
}

// wholeEdit returns the edit of a whole export: it puts all resources of the model, and drops all
// others but those in the sets of other owners.
func wholeEdit(
	ctx context.Context, p *planning, x Export, last state.Version,
) (*edit, error) {
	all := &edit{Edit: version.Edit{Put: x.Model}}
	base, owned, err := ownedIn(ctx, p, x, last)
	if err != nil {
		return nil, err
	}
	if err := p.pl.checkDescribed(ctx, p.was, x.Model, len(owned) > 0); err != nil || len(owned) == 0 {
		return all, err
	}
	e, err := readBase(ctx, p, base)
	if err != nil {
		return nil, err
	}
	e.Put, e.Agents = x.Model, MergeAgents(base.Agents, x.Model.Agents)
	index := indexOf(x.Model)
	for _, id := range slices.Sorted(maps.Keys(e.was)) {
		set := e.was[id].Set
		i, again := index[id]
		switch {
		case owned[set] && again:
			e.problems.Add(hasOwned(x.Model, i, set))
		case !owned[set] && !again:
			e.Drop[id] = true
		}
	}
	return e, nil
}
