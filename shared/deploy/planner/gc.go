package planner

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Retention if the settings have none.
const (
	defaultKeepVersions = 100
	// fileGrace protects files that were uploaded for an export whose version is not stored yet.
	fileGrace = 24 * time.Hour
)

// Collected is the result of a collection.
type Collected struct {
	Versions int `json:"versions"`
	Actions  int `json:"actions"`
	Files    int `json:"files"`
}

// Collect removes old versions and actions, by the settings of the environment, and facts of
// resources that are gone. It also removes files that no environment refers to and that were stored
// more than grace ago (0: a day).
//
// Versions are removed before the files that they refer to, so that no version exists without its
// files. After a crash in between, the next collection removes the rest, since it starts from the
// stored data.
func (pl *Planner) Collect(
	ctx context.Context,
	env string,
	grace time.Duration,
) (Collected, error) {
	var out Collected
	if grace <= 0 {
		grace = fileGrace
	}
	err := pl.plan(ctx, env, func(p *planning) error {
		if err := dropVersions(ctx, p); err != nil {
			return err
		}
		if err := dropFacts(ctx, p); err != nil {
			return err
		}
		out.Versions = len(p.store.forget)
		if err := p.commit(ctx, scheduleStays); err != nil {
			return err
		}
		var err error
		out.Actions, err = pl.State.DropActions(
			ctx,
			env,
			pl.Clock.Now().Add(-p.env.Settings.ActionsKept()),
		)
		return fault.Wrap(fault.Unknown, "remove actions", err)
	})
	if err != nil {
		return out, err
	}
	out.Files, err = (&collector{pl}).dropFiles(ctx, grace)
	return out, err
}

// dropVersions plans to forget all but the last few versions; it never forgets the version in
// force.
func dropVersions(ctx context.Context, p *planning) error {
	keep := p.env.Settings.KeepVersions
	if keep <= 0 {
		keep = defaultKeepVersions
	}
	vs, err := p.pl.State.Versions(ctx, p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read versions", err)
	}
	for _, v := range vs {
		if v.Number <= p.env.Last-keep && v.Number != p.env.Released {
			p.store.forget = append(p.store.forget, v.Number)
		}
	}
	return nil
}

// collector removes unreferenced files.
type collector struct{ *Planner }

// dropFiles removes files to which no version, no graph and no row refers; the version of a row may
// have been forgotten. It first collects candidates. Then it checks them again and removes them
// while no export can store a version.
func (pl *collector) dropFiles(ctx context.Context, grace time.Duration) (int, error) {
	used, err := pl.used(ctx)
	if err != nil {
		return 0, err
	}
	before := pl.Clock.Now().Add(-grace)
	var candidates []string
	if err := pl.Files.List(ctx, func(hash string, stored time.Time) error {
		if !used[hash] && stored.Before(before) {
			candidates = append(candidates, hash)
		}
		return nil
	}); err != nil {
		return 0, fault.Wrap(fault.Unknown, "list files", err)
	}
	if len(candidates) == 0 {
		return 0, nil
	}
	return pl.dropUnused(ctx, candidates)
}

// dropUnused removes the unused files among hashes. During that, it holds the plan leases of all
// environments, since an export may be about to refer to a file that it found stored.
func (pl *collector) dropUnused(ctx context.Context, hashes []string) (int, error) {
	envs, err := pl.State.Envs(ctx)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "list environments", err)
	}
	until := time.Time{}
	for _, env := range envs { // sorted, so that two collections do not wait for each other
		l, err := pl.Client.Acquire(ctx, env, state.PlanKey, planLease)
		if err != nil {
			return 0, err
		}
		defer pl.Client.Release(ctx, env, l)
		if until.IsZero() || l.Until.Before(until) {
			until = l.Until
		}
	}
	used, err := pl.used(ctx)
	if err != nil {
		return 0, err
	}
	hashes = slices.DeleteFunc(hashes, func(h string) bool { return used[h] })
	n := 0
	for batch := range slices.Chunk(hashes, 500) {
		// A removal that outlasts the lease could remove a file that an export has found stored
		// since. So each removal starts with at least half of the lease left, and the next
		// collection continues.
		if pl.Clock.Now().Add(planLease / 2).After(until) {
			break
		}
		if err := pl.Files.Delete(ctx, batch); err != nil {
			return n, fault.Wrap(fault.Unknown, "remove files", err)
		}
		n += len(batch)
	}
	return n, nil
}

// used returns the hashes of referenced files, in any environment.
func (pl *collector) used(ctx context.Context) (map[string]bool, error) {
	envs, err := pl.State.Envs(ctx)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "list environments", err)
	}
	used := map[string]bool{}
	if pl.Keep != nil {
		others, err := pl.Keep(ctx)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "list files that are kept", err)
		}
		for _, h := range others {
			used[h] = true
		}
	}
	for _, env := range envs {
		if err := pl.usedFiles(ctx, env, used); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// usedFiles adds the hashes of the files to which an environment refers.
func (pl *collector) usedFiles(ctx context.Context, env string, used map[string]bool) error {
	stored, err := pl.State.Env(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	add := func(hashes []string) {
		for _, h := range hashes {
			used[h] = true
		}
	}
	add(version.GraphFiles(stored.Graph))
	vs, err := pl.State.Versions(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read versions", err)
	}
	for _, v := range vs {
		add(v.Places)
		add(v.Chunks)
		add(v.Files)
		if v.Contents != nil {
			used[v.Contents.Base] = true
		}
	}
	return pl.Client.EachRow(ctx, env, func(r *state.Row) error {
		if res, err := resource.Decode(r.Body); err == nil {
			add(version.FilesOf(res))
		}
		return nil
	})
}
