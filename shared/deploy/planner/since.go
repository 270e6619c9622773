package planner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Since describes the previous model of an export: see docs/design/export.md.
type Since struct {
	// Fingerprint is the fingerprint of the previous model. Export.Model holds only the resources
	// that have changed. All of them were in the previous model with the same id, set, purged and
	// documented requires, and nothing else has changed.
	Fingerprint string
	// Files are the hashes of the files that the previous model referred to, sorted. Model.Files
	// has all files that the whole model refers to now.
	Files []string
}

// ErrWhole means that an export with Since was declined and has changed nothing: the whole model
// has to be exported.
var ErrWhole = errors.New("the whole model has to be exported")

// exportSince is Export with Since. It declines if a change may affect other resources, and if
// there is a problem, which an export of the whole model reports.
func (pl *Planner) exportSince(
	ctx context.Context,
	env string,
	x Export,
) (out Exported, err error) {
	repair, err := pl.needsRepair(ctx, env)
	if err != nil {
		return out, err
	}
	x.Model = x.Model.Clone()
	if repair || x.Model.HasSetupSecrets() || !pl.changesAlone(x) {
		return Exported{}, ErrWhole
	}
	uploaded, err := pl.upload(ctx, env, x.Model)
	if err != nil {
		return out, err
	}
	err = pl.plan(ctx, env, func(p *planning) (err error) {
		out, err = (&exporting{planning: p}).export(ctx, x)
		return err
	})
	if state.Unreadable(err) {
		return Exported{}, ErrWhole
	}
	out.FilesUploaded = uploaded
	return out, err
}

// changesAlone completes the changed resources. It reports whether they have no problem and
// generate no resource, as far as that can be decided without the previous version.
func (pl *Config) changesAlone(x Export) bool {
	whole := !x.Partial && !x.NoRelease && len(x.DeleteSets) == 0 && x.Target.Empty() &&
		x.Expect == ""
	n := len(x.Model.Resources)
	if !whole || x.Since.Fingerprint == "" || len(pl.Checker.Complete(x.Model)) > 0 ||
		len(x.Model.Resources) != n {
		return false
	}
	for i := range x.Model.Resources {
		r := &x.Model.Resources[i]
		if _, more := provider.As[provider.Generator](pl.Handlers[r.Type]); more || !known(r) {
			return false
		}
	}
	return true
}

// known reports whether the intent of a resource refers to no parameter, fact or secret.
func known(r *resource.Resource) bool {
	for _, v := range r.Attributes {
		for _, ref := range resource.References(v) {
			if _, is := ref.(resource.File); !is {
				return false
			}
		}
	}
	return true
}

// delta is the difference of a version to the previous one that a bounded edit makes.
type delta struct {
	before map[resource.ID]version.Entry
	after  []version.Entry
	put    []*resource.Resource // the resources that the edit puts, also the unchanged ones
	stays  bool                 // their nodes in the graph stay as they are, and none leaves
	done   []resource.ID        // nodes of resources that left earlier and are purged by now
}

// applyIncrement builds the version that results from last by the changes of x.
func (p *exporting) applyIncrement(ctx context.Context, x Export, last state.Version) (next, error) {
	if !p.isInForce(last) || p.env.Fingerprint != x.Since.Fingerprint ||
		!slices.Equal(last.Files, x.Since.Files) {
		return next{}, ErrWhole
	}
	sets := setsOf(x.Model.Resources)
	owned, err := p.pl.ownedOf(ctx, p.env.Name, sets)
	if err != nil || len(owned) > 0 {
		return next{}, cmp.Or(err, ErrWhole)
	}
	s, err := p.bounded(ctx, last)
	if err != nil {
		return next{}, err
	}
	s.list, s.sets, s.stays = x.Model.Resources, sets, true
	if err := s.fetch(ctx, s.list); err != nil {
		return next{}, err
	}
	for i := range s.list {
		if err := s.describe(ctx, &s.list[i]); err != nil {
			return next{}, err
		}
	}
	if s.will.entries, err = version.NewEntries(s.list, s.agents, nil); err != nil {
		return next{}, ErrWhole
	}
	s.leaveOut()
	if x.Settings != nil {
		p.env.Settings = *x.Settings
	}
	v := last
	v.Base, v.Files = 0, slices.Sorted(maps.Keys(x.Model.Files))
	return s.next(ctx, x, v)
}

// describe gives a resource that is described again the edges that it has in the version. It
// declines if its meaning for other resources is another one.
func (s *bounded) describe(ctx context.Context, now *resource.Resource) error {
	en, err := s.entry(ctx, now.ID)
	if err != nil || en == nil {
		return cmp.Or(err, ErrWhole)
	}
	was, err := resource.Decode(en.Body)
	if err != nil {
		return version.DamagedChunk(s.last.Chunks[version.ChunkOf(now.ID, len(s.last.Chunks))])
	}
	if _, known := s.agents[now.Agent]; !known || !s.plan.pl.sameEdges(was, now) {
		return ErrWhole
	}
	now.Requires, now.Subscriptions, now.Subscribed = was.Requires, was.Subscriptions,
		was.Subscribed
	s.was[now.ID], s.now[now.ID], s.entries[now.ID] = was, now, *en
	return nil
}

// sameEdges reports whether two descriptions of a resource have the same meaning for all other
// resources: they manage the same thing, keep the same paths and have the same relations by their
// type.
func (pl *Config) sameEdges(was, now *resource.Resource) bool {
	return was.Type == now.Type && was.Agent == now.Agent && was.Set == now.Set &&
		was.Purged == now.Purged && !pl.Checker.Gathers(was) && !pl.Checker.Gathers(now) &&
		pl.Checker.MeansTheSame(was, now)
}
