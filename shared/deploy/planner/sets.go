package planner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// A partial export of a few resource sets is planned from the old and new resources of these sets,
// without reading the rest of the version: see docs/design/export.md. Examples are the order, the
// update and the delete of an instance. The result equals that of a merge of the whole version;
// otherwise the export declines.

// mayBound reports whether an export may affect its sets only, as far as that can be decided without
// the previous version.
func mayBound(pl *Config, x *Export) bool {
	return x.Partial && !x.NoRelease && x.Expect == "" && x.Limits == nil && x.Settings == nil &&
		!slices.ContainsFunc(x.Model.Resources, func(r resource.Resource) bool {
			return pl.generates(&r) || pl.Checker.Gathers(&r)
		})
}

// generates reports whether a resource may generate others.
func (pl *Config) generates(r *resource.Resource) bool {
	_, more := provider.As[provider.Generator](pl.Handlers[r.Type])
	return more
}

// applySets applies an edit of resource sets to the last version; ErrWhole: the whole has to be
// merged.
func (p *exporting) applySets(ctx context.Context, x Export, last state.Version) (next, error) {
	if p.repair || p.all || !isInForce(&p.env, &last) || !mayBound(&p.pl.Config, &x) {
		return next{}, ErrWhole
	}
	s, err := newBounded(ctx, p.planning, last)
	if err != nil || s.base.contents == nil {
		return next{}, cmp.Or(err, ErrWhole)
	}
	if err := s.readSets(ctx, slices.Concat(x.sets, x.DeleteSets)); err != nil {
		return next{}, err
	}
	if err := s.putSets(ctx, x); err != nil {
		return next{}, err
	}
	if err := s.checkRelations(ctx); err != nil {
		return next{}, err
	}
	entries, err := s.resolve(ctx, x.Model.Agents)
	if err != nil || p.check {
		return next{}, err
	}
	out, err := s.content(ctx, entries, last.Files)
	out.version.Base = last.Number
	return out, err
}

// putSets puts the resources of a model that are in sets. Those of no set have to be unchanged, or
// are kept. It declines if the former affect resources of other sets.
func (s *bounded) putSets(ctx context.Context, x Export) error {
	for i := range x.Model.Resources {
		r := x.Model.Resources[i] // a copy: completing it must not change the model
		switch {
		case r.Set != "":
			a, known := s.base.byName[r.Agent]
			if !known || !a.Described && anyDescribed(s.base.Agents) || s.affectsOthers(&r) {
				return ErrWhole
			}
			r.Requires = slices.Clone(r.Requires)
			s.put = append(s.put, r)
		case s.was[r.ID] != nil:
			return ErrWhole
		case x.KeepShared && s.base.has(r.ID):
		default:
			was, _, err := s.base.find(ctx, r.ID)
			if err != nil {
				return err
			}
			if !hasSameShared(&r, was) {
				return ErrWhole
			}
		}
	}
	return s.relate(ctx)
}

// hasSameShared reports whether a resource of no set, as an author wrote it, equals the one of a
// version.
func hasSameShared(r, was *resource.Resource) bool {
	return was.Set == "" && sameIntent(r, was) && r.Flags == was.Flags &&
		!slices.ContainsFunc(r.Requires, func(id resource.ID) bool {
			return !slices.Contains(was.Requires, id)
		})
}

// relate applies the edit to the resources that the sets had, and to those outside that the new ones
// require. It declines if there is a problem: the whole merge reports it and its place.
func (s *bounded) relate(ctx context.Context) error {
	e := version.Edit{Put: &model.Model{Resources: s.put}, Drop: map[resource.ID]bool{},
		Agents: s.base.Agents, Frozen: true}
	now := indexOf(e.Put)
	base := version.Base(maps.Clone(s.was))
	for id := range s.was {
		if _, again := now[id]; !again {
			e.Drop[id] = true
		}
	}
	for i := range s.put {
		if err := s.addRequired(ctx, &s.put[i], now, base); err != nil {
			return err
		}
	}
	next := version.Apply(s.plan.pl.Checker, base, &e)
	if len(now) < len(s.put) || len(version.Check(s.plan.pl.Checker, next, &e)) > 0 {
		return ErrWhole
	}
	s.put = next.Model.Resources[:next.Put]
	for i := range s.put {
		s.now[s.put[i].ID] = &s.put[i]
	}
	return nil
}

// affectsOthers reports whether the new state of a resource may affect a resource of another set.
func (s *bounded) affectsOthers(r *resource.Resource) bool {
	names, shared := s.plan.pl.Checker.ThingsOf(r, s.base.targets)
	all, _ := s.plan.pl.Checker.DescribesAll(r)
	for _, of := range names {
		if !shared && s.others.Has(version.StandsFor(of)) || all && s.others.Has(version.PartOf(of)) {
			return true
		}
	}
	if of, is := s.plan.pl.Checker.PartOf(r, s.base.targets); is && s.others.Has(version.WholeOf(of)) {
		return true
	}
	if s.was[r.ID] != nil {
		return s.others.Has(version.TiedTo(r.ID))
	}
	return s.base.graph.Node(r.ID) >= 0 || s.others.Has(version.RelatesTo(r.ID))
}

// addRequired adds to base the resources outside of the sets that a new resource requires. It
// declines if such a resource would change, or the order in which things are removed. Only a
// requirement by type changes no other resource, unless that gathers its dependants.
func (s *bounded) addRequired(
	ctx context.Context, r *resource.Resource, now map[resource.ID]int, base version.Base,
) error {
	ids := slices.Clone(r.Requires)
	for _, to := range s.plan.pl.Checker.Related(r) {
		if _, again := now[to.ID]; again || s.was[to.ID] != nil || !s.base.has(to.ID) {
			continue
		}
		if to.Kind != schema.Require {
			return ErrWhole
		}
		ids = append(ids, to.ID)
	}
	for _, id := range ids {
		if _, again := now[id]; again || base[id] != nil {
			continue
		}
		other, _, err := s.base.find(ctx, id)
		if err != nil {
			return err
		}
		if other.Purged || s.plan.pl.Checker.Gathers(other) {
			return ErrWhole
		}
		other.Requires = nil // they are outside, or checkRelations declines
		base[id] = other
	}
	return nil
}

// resolve gives values to the references in the put resources, and returns their entries. It
// declines if one of the given agents differs from the version, or a resource changes its meaning for
// other resources, or has a problem: the whole merge reports the problem and its place.
func (s *bounded) resolve(ctx context.Context, given []resource.Agent) ([]version.Entry, error) {
	keep := kept{agents: map[string]bool{}}
	for name := range s.base.byName {
		keep.agents[name] = true
	}
	for _, a := range given {
		delete(keep.agents, a.Name)
	}
	out, err := s.plan.resolver().resolveModel(ctx,
		&model.Model{Resources: s.put, Agents: MergeAgents(s.base.Agents, given)}, keep)
	problems := diag.Problems(nil)
	if errors.As(err, &problems) || err == nil && (out.unsettled ||
		!state.SameAgents(out.agents, s.base.Agents) || !sameDescribed(out.agents, s.base.Agents)) {
		return nil, ErrWhole
	}
	return out.entries, err
}

// readSets reads the resources that the version has in the given sets.
func (s *bounded) readSets(ctx context.Context, sets []string) error {
	for _, set := range slices.Compact(slices.Sorted(slices.Values(sets))) {
		if _, there := slices.BinarySearch(s.base.Sets, set); there {
			s.sets = append(s.sets, set)
		}
	}
	for _, set := range s.sets {
		for b := range s.base.Chunks {
			if !s.base.contents.Has(version.IsIn(set, b)) {
				continue
			}
			lines, err := s.base.chunk(ctx, b)
			if err != nil {
				return err
			}
			entries, resources, err := lines.OfSet(set)
			if err != nil {
				return err
			}
			for i, r := range resources {
				s.was[r.ID], s.entries[r.ID] = r, entries[i]
			}
		}
	}
	s.indexOthers()
	return nil
}

// checkRelations declines if resources that were in the sets have relations to other resources that
// change, or may change in order.
func (s *bounded) checkRelations(ctx context.Context) error {
	if movedIn(s) {
		return ErrWhole
	}
	required, requires := false, false
	for id, r := range s.was {
		from, to := s.neighbours(id)
		now := s.now[id]
		purged := r.Purged || now != nil && now.Purged
		required, requires = required || len(from) > 0, requires || len(to) > 0
		if len(from) > 0 && (purged || now == nil) ||
			now == nil && s.others.Has(version.RelatesTo(id)) {
			return ErrWhole
		}
		for _, other := range s.plan.pl.Checker.Related(r) {
			if other.Kind != schema.Require && s.was[other.ID] == nil && s.base.has(other.ID) {
				return ErrWhole
			}
		}
		if !purged {
			continue
		}
		// Edges between purged resources run in the reverse direction.
		for _, id := range to {
			other, _, err := s.base.find(ctx, id)
			if err != nil {
				return err
			}
			if other.Purged || !slices.Contains(r.Requires, id) {
				return ErrWhole
			}
		}
	}
	for i := range s.put {
		requires = requires || slices.ContainsFunc(s.put[i].Requires, func(id resource.ID) bool {
			return s.now[id] == nil
		})
	}
	if required && requires { // otherwise no cycle passes through other sets
		if s.stays = s.hasSameOrder(); !s.stays {
			return ErrWhole
		}
	}
	return nil
}

// neighbours returns the resources of other sets that require a resource in the graph (from), and
// those that it requires (to).
func (s *bounded) neighbours(id resource.ID) (from, to []resource.ID) {
	g := s.base.graph
	others := func(nodes []int32) (out []resource.ID) {
		for _, n := range nodes {
			if id := g.IDs[n]; s.was[id] == nil && !g.Removing[n] {
				out = append(out, id)
			}
		}
		return out
	}
	n := g.Node(id)
	if n < 0 {
		return nil, nil
	}
	return others(g.Dependants(n)), others(g.Requires(n))
}

// hasSameOrder reports whether the sets have the same resources as before, with the same
// requirements, and the same of them purged.
func (s *bounded) hasSameOrder() bool {
	for i := range s.put {
		r := &s.put[i]
		was := s.was[r.ID]
		if was == nil || was.Purged != r.Purged || !slices.Equal(was.Requires, r.Requires) {
			return false
		}
	}
	return len(s.put) == len(s.was)
}
