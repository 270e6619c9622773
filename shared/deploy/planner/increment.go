package planner

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// completeIncrement completes the changed resources. It reports whether they have no problem and
// generate no resource, as far as that can be decided without the previous version.
func completeIncrement(pl *Config, x *Export) bool {
	n := len(x.Model.Resources)
	if x.Partial || x.NoRelease || len(x.DeleteSets) > 0 || !x.Target.Empty() || x.Expect != "" ||
		x.Since.Fingerprint == "" || len(pl.Checker.Complete(x.Model)) > 0 ||
		len(x.Model.Resources) != n {
		return false
	}
	return !slices.ContainsFunc(x.Model.Resources, func(r resource.Resource) bool {
		return pl.generates(&r) || !refersToFilesOnly(&r)
	})
}

// refersToFilesOnly reports whether a resource refers to no parameter, fact or secret.
func refersToFilesOnly(r *resource.Resource) bool {
	for _, v := range r.Attributes {
		for _, ref := range resource.References(v) {
			if _, is := ref.(resource.File); !is {
				return false
			}
		}
	}
	return true
}

// applyIncrement applies the changes of x to the last version.
func (p *exporting) applyIncrement(ctx context.Context, x Export, last state.Version) (next, error) {
	if !isInForce(&p.env, &last) || p.env.Fingerprint != x.Since.Fingerprint ||
		!slices.Equal(last.Files, x.Since.Files) {
		return next{}, ErrWhole
	}
	owned, err := p.pl.ownedOf(ctx, p.env.Name, x.sets)
	if err != nil || len(owned) > 0 {
		return next{}, cmp.Or(err, ErrWhole)
	}
	s, err := newBounded(ctx, p.planning, last)
	if err != nil {
		return next{}, err
	}
	s.put, s.sets, s.stays = x.Model.Resources, x.sets, true
	if err := s.keepEdges(ctx); err != nil {
		return next{}, err
	}
	s.indexOthers()
	entries, err := version.NewEntries(s.put, s.base.byName, nil)
	if err != nil {
		return next{}, ErrWhole
	}
	return s.content(ctx, entries, slices.Sorted(maps.Keys(x.Model.Files)))
}

// keepEdges gives the resources that are put the edges that they have in the version. It declines if
// the meaning of one for other resources is another one.
func (s *bounded) keepEdges(ctx context.Context) error {
	var chunks []int
	for i := range s.put {
		chunks = append(chunks, version.ChunkOf(s.put[i].ID, len(s.base.Chunks)))
	}
	if err := s.base.read(ctx, chunks...); err != nil {
		return err
	}
	for i := range s.put {
		now := &s.put[i]
		was, en, err := s.base.find(ctx, now.ID)
		if err != nil {
			return err
		}
		if _, known := s.base.byName[now.Agent]; !known || !hasSameEdges(s.plan.pl.Checker, was, now) {
			return ErrWhole
		}
		now.Requires, now.Subscriptions, now.Subscribed = was.Requires, was.Subscriptions,
			was.Subscribed
		s.was[now.ID], s.now[now.ID], s.entries[now.ID] = was, now, *en
	}
	return nil
}

// hasSameEdges reports whether two descriptions of a resource have the same meaning for all other
// resources: they manage the same thing, keep the same paths and have the same relations by their
// type.
func hasSameEdges(c *model.Checker, was, now *resource.Resource) bool {
	return was.Type == now.Type && was.Agent == now.Agent && was.Set == now.Set &&
		was.Purged == now.Purged && !c.Gathers(was) && !c.Gathers(now) && c.MeansTheSame(was, now)
}
