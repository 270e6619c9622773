package planner

import (
	"cmp"
	"context"
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

// alone reports whether an export may affect its sets only, as far as that can be decided without
// the previous version.
func (p *exporting) alone(x Export, last state.Version) bool {
	if !x.Partial || x.NoRelease || x.Expect != "" || x.Limits != nil || x.Settings != nil ||
		p.repair || p.all || !p.isInForce(last) {
		return false
	}
	for i := range x.Model.Resources {
		r := &x.Model.Resources[i]
		_, more := provider.As[provider.Generator](p.pl.Handlers[r.Type])
		if more || p.pl.Checker.Gathers(r) {
			return false
		}
	}
	return true
}

// applySets builds the version that results from last by changed resource sets; ErrWhole: the
// whole has to be merged.
func (p *exporting) applySets(ctx context.Context, x Export, last state.Version) (next, error) {
	if !p.alone(x, last) {
		return next{}, ErrWhole
	}
	s, err := p.bounded(ctx, last)
	if err != nil || s.known == nil {
		return next{}, cmp.Or(err, ErrWhole)
	}
	for _, step := range []func(context.Context, Export) error{s.find, s.take, s.joined, s.resolve} {
		if err := step(ctx, x); err != nil {
			return next{}, err
		}
	}
	if p.check {
		return next{}, nil
	}
	v := last
	v.Base = last.Number
	return s.next(ctx, x, v)
}

// take checks all resources of a model. Resources of no set have to be unchanged, or are kept. All
// others must not affect resources of other sets.
func (s *bounded) take(ctx context.Context, x Export) error {
	m := x.Model
	for i := range m.Resources {
		r := m.Resources[i] // a copy: completing it must not change the model
		switch {
		case r.Set != "":
			a, known := s.agents[r.Agent]
			if !known || !a.Described && anyDescribed(s.last.Agents) || s.concerns(&r) {
				return ErrWhole
			}
			r.Requires = slices.Clone(r.Requires)
			s.list = append(s.list, r)
		case s.was[r.ID] != nil:
			return ErrWhole
		case x.KeepShared && s.has(r.ID):
		default:
			if err := s.same(ctx, &r); err != nil {
				return err
			}
		}
	}
	return s.apply(ctx, m.At)
}

// apply applies the edit to the resources that the sets had, and to those outside that the new ones
// require. It declines if there is a problem: the whole merge reports it and its place.
func (s *bounded) apply(ctx context.Context, at func(int, string) diag.Pos) error {
	e := version.Edit{Put: &model.Model{Resources: s.list, Where: at}, Drop: map[resource.ID]bool{},
		Agents: s.last.Agents, Frozen: true}
	now := indexOf(e.Put)
	base := version.Base(maps.Clone(s.was))
	for id := range s.was {
		if _, again := now[id]; !again {
			e.Drop[id] = true
		}
	}
	for i := range s.list {
		if err := s.required(ctx, &s.list[i], now, base); err != nil {
			return err
		}
	}
	next := version.Apply(s.plan.pl.Checker, base, &e)
	if len(now) < len(s.list) || len(version.Check(s.plan.pl.Checker, next, &e)) > 0 {
		return ErrWhole
	}
	s.list = next.Model.Resources[:next.Put]
	for i := range s.list {
		s.now[s.list[i].ID] = &s.list[i]
	}
	return nil
}

// concerns reports whether the new state of a resource may affect a resource of another set.
func (s *bounded) concerns(r *resource.Resource) bool {
	names, shared := s.plan.pl.Checker.ThingsOf(r, s.reached)
	all, _ := s.plan.pl.Checker.DescribesAll(r)
	for _, of := range names {
		if !shared && s.others.Has(version.StandsFor(of)) || all && s.others.Has(version.PartOf(of)) {
			return true
		}
	}
	if of, is := s.plan.pl.Checker.PartOf(r, s.reached); is && s.others.Has(version.WholeOf(of)) {
		return true
	}
	if s.was[r.ID] != nil {
		return s.others.Has(version.TiedTo(r.ID))
	}
	return s.graph.Node(r.ID) >= 0 || s.others.Has(version.RelatesTo(r.ID))
}

// same declines a resource of no set that differs from the version.
func (s *bounded) same(ctx context.Context, r *resource.Resource) error {
	en, err := s.entry(ctx, r.ID)
	if err != nil || en == nil {
		return cmp.Or(err, ErrWhole)
	}
	was, err := resource.Decode(en.Body)
	if err != nil {
		return version.DamagedChunk(s.last.Chunks[version.ChunkOf(r.ID, len(s.last.Chunks))])
	}
	if was.Set != "" || !sameIntent(r, was) || r.Flags != was.Flags {
		return ErrWhole
	}
	for _, id := range r.Requires {
		if !slices.Contains(was.Requires, id) {
			return ErrWhole
		}
	}
	return nil
}

// required adds to base the resources outside of the sets that a new resource requires. It declines
// if such a resource would change, or the order in which things are removed. Only a requirement by
// type changes no other resource, unless that gathers its dependants.
func (s *bounded) required(
	ctx context.Context, r *resource.Resource, now map[resource.ID]int, base version.Base,
) error {
	ids := slices.Clone(r.Requires)
	for _, to := range s.plan.pl.Checker.Related(r) {
		if _, again := now[to.ID]; again || s.was[to.ID] != nil || !s.has(to.ID) {
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
		en, err := s.entry(ctx, id)
		if err != nil || en == nil {
			return cmp.Or(err, ErrWhole)
		}
		other, err := resource.Decode(en.Body)
		if err != nil || other.Purged || s.plan.pl.Checker.Gathers(other) {
			return ErrWhole
		}
		other.Requires = nil // they are outside, or joined declines
		base[id] = other
	}
	return nil
}

// resolve gives values to the references in the new resources of the sets. It declines if an agent
// of the model differs from the version, or a resource changes its meaning for other resources.
func (s *bounded) resolve(ctx context.Context, x Export) error {
	r := s.plan.resolver()
	m := &model.Model{Resources: s.list, Agents: x.Model.Agents}
	known, refs, err := r.references(ctx, m, kept{})
	if err != nil {
		return err
	}
	agents, problems := r.resolveAgents(ctx, &model.Model{Agents: m.Agents}, known, nil)
	for _, a := range agents.list {
		was, there := s.agents[a.Name]
		if !there || !was.Described || !state.SameAgents([]resource.Agent{was}, []resource.Agent{a}) {
			return ErrWhole
		}
	}
	s.will, err = r.resolveAndEncode(
		ctx, m, refs, known, agentSet{list: s.last.Agents, byName: s.agents}, kept{},
	)
	if len(problems) > 0 || err != nil || s.will.unsettled {
		return ErrWhole // the whole merge reports the problem and its place
	}
	return nil
}
