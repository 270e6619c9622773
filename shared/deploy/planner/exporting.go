package planner

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Export validates, stores and releases a model. If the same export is repeated, also after a
// crash, it results in the same version. A model with problems is refused with diag.Problems, which
// holds all of them, and nothing is stored.
//
// Uploaded files are stored first, without the lease, since an upload may take longer than the
// lease lasts. Under the lease, the files of the version and its graph are stored next. The version
// is stored last, by the commit that begins its release. So a process that sees a version can read
// all of it. A crash before that commit leaves unreferenced files. A repeated export finds them
// stored, and a collection removes files that are still unreferenced after its grace period. After
// a crash later on, the next planner continues the release (see commitAll).
func (pl *Planner) Export(ctx context.Context, env string, x Export) (Exported, error) {
	var out Exported
	pl = pl.in(ctx)
	if x.Since != nil {
		return pl.exportSince(ctx, env, x)
	}
	problems := pl.validateExport(x)
	if err := cmp.Or(pl.Checker.Err(), problems.Err()); err != nil {
		return out, err
	}
	if err := pl.checkSecrets(ctx, env, x, false); err != nil {
		return out, err
	}
	uploaded, err := pl.upload(ctx, env, x.Model)
	if err != nil {
		return out, err
	}
	repair, err := pl.needsRepair(ctx, env)
	if err != nil {
		return out, err
	}
	out, err = pl.export(ctx, env, x, repair)
	if state.Unreadable(err) && !repair {
		x.Model.Fingerprint = "" // its parameters have been replaced by values by now
		out, err = pl.export(ctx, env, x, true)
	}
	out.FilesUploaded = uploaded
	return out, err
}

// export does the part of an export that is serialised with other exports.
func (pl *Planner) export(
	ctx context.Context, env string, x Export, repair bool,
) (out Exported, err error) {
	err = pl.planUnderLease(ctx, env, repair, func(p *planning) (err error) {
		out, err = (&exporting{planning: p}).export(ctx, x)
		return err
	})
	return out, err
}

// exportSince is Export with Since. It declines if a change may affect other resources, and if
// there is a problem, which an export of the whole model reports.
func (pl *Planner) exportSince(ctx context.Context, env string, x Export) (Exported, error) {
	repair, err := pl.needsRepair(ctx, env)
	if err != nil {
		return Exported{}, err
	}
	x.Model = x.Model.Clone()
	if repair || x.Model.HasSetupSecrets() || !completeIncrement(&pl.Config, &x) {
		return Exported{}, ErrWhole
	}
	uploaded, err := pl.upload(ctx, env, x.Model)
	if err != nil {
		return Exported{}, err
	}
	out, err := pl.export(ctx, env, x, false)
	if state.Unreadable(err) {
		return Exported{}, ErrWhole
	}
	out.FilesUploaded = uploaded
	return out, err
}

// LockExports records the token of the only worker that may export with a Turn from now on; see
// Export.Turn. A worker that takes the turn before it reads its tasks knows that no other worker
// exports an older reading of them afterwards.
func (pl *Planner) LockExports(ctx context.Context, env, turn string) error {
	return pl.plan(ctx, env, func(p *planning) error {
		p.env.Turn = turn
		return p.commit(ctx, scheduleStays)
	})
}

// next builds the version that results from an export, and stores nothing.
func (p *exporting) next(ctx context.Context, x Export) (next, error) {
	x.sets = setsOf(x.Model.Resources)
	last, err := p.pl.Client.Version(ctx, p.was, p.env.Last)
	if err != nil {
		return next{}, err
	}
	out, err := p.content(ctx, x, last)
	if err != nil || p.check {
		return next{}, err
	}
	if x.Settings != nil && (x.Target.Empty() || p.env.Released == 0) {
		p.env.Settings = *x.Settings
	}
	v := &out.version
	v.Number, v.At, v.Pack, v.Origin = p.env.Last+1, p.pl.Clock.Now(), p.pl.Pack, x.Origin
	v.Digest = version.Digest(version.SumsDigest(out.sums), v.Agents)
	out.last, out.fresh = last, last.Number == 0 || v.Digest != last.Digest ||
		p.repair && !slices.Equal(v.Chunks, last.Chunks)
	if !out.fresh {
		out.version = last
	}
	return out, nil
}

// content applies an export to its base version: as a bounded edit of the last version if possible,
// and else to the whole base. Of the result, it sets all that the content of the version determines.
func (p *exporting) content(ctx context.Context, x Export, last state.Version) (next, error) {
	if x.Since != nil {
		return p.applyIncrement(ctx, x, last)
	}
	if err := p.checkOwned(ctx, x); err != nil {
		return next{}, err
	}
	if n, err := p.applySets(ctx, x, last); !errors.Is(err, ErrWhole) {
		return n, err
	}
	return p.applyWhole(ctx, x, last)
}

// export does the part of an export that is serialised with other exports.
func (p *exporting) export(ctx context.Context, x Export) (Exported, error) {
	if x.Turn != p.env.Turn && x.Turn != "" {
		return Exported{}, fault.New(fault.Conflict, "export",
			"another process has taken over this export; run it again")
	}
	p.places, p.since = version.PlacesOf(x.Model), x.Since != nil
	next, err := p.next(ctx, x)
	if err = cmp.Or(err, p.pl.Checker.Err()); err != nil {
		return Exported{}, err
	}
	p.store.by = x.Origin
	if next.fresh {
		next.version.Unreleased = x.NoRelease
	}
	v := next.version
	p.env.Last, p.env.Fingerprint, p.env.Applied = v.Number, "", x.Expect
	p.env.Base = 0
	if !x.Partial && x.Target.Empty() && !next.volatile {
		p.env.Fingerprint = x.Model.Fingerprint
	}
	out := Exported{
		Version:   v.Number,
		Resources: v.Resources,
		Unchanged: v.Resources,
		New:       next.fresh,
		Origin:    v.Origin,
	}
	if x.NoRelease {
		if next.fresh {
			out.Changed, out.Removed, err = p.compareVersions(ctx, next.last, v, next.entries)
			if err != nil {
				return Exported{}, err
			}
			out.Unchanged = v.Resources - out.Changed
		}
		if err := p.storeVersion(ctx, next); err != nil {
			return Exported{}, err
		}
		return out, p.commit(ctx, scheduleStays)
	}
	var diff changeCounts
	if !p.isCarriedOut(x, next) {
		if diff, err = planRelease(ctx, p.planning, next); err != nil {
			return out, err
		}
	}
	f := forecast{rowEffects: rowEffects{pl: &p.pl.Config}, plan: p.planning, targets: p.targets}
	if err := f.guard(ctx, x, next.fresh); err != nil {
		return Exported{}, err
	}
	if err := p.storeVersion(ctx, next); err != nil {
		return Exported{}, err
	}
	p.pl.Contents.Keep(v.Digest, next.contents)
	out.Changed, out.Removed = diff.changed, diff.removed
	out.LeftBehind, out.FirstLeft = countOrphaned(p)
	out.Moved, out.Moves = p.moves.first()
	out.Unchanged = v.Resources - diff.changed
	return out, p.request(ctx, x)
}

// isCarriedOut reports whether the expected plan of an export was carried out, and nothing else was
// exported or released since. The plan did not show the effects of values that were forgotten since,
// such as facts of a resource that it purged.
func (p *exporting) isCarriedOut(x Export, n next) bool {
	return x.Expect != "" && x.Expect == p.was.Applied && !n.fresh && !p.repair &&
		p.was.Released == n.version.Number
}

// maxLeft bounds how many orphaned resources are named.
const maxLeft = 20

// countOrphaned returns how many rows the plan orphans, and the first of these.
func countOrphaned(p *exporting) (n int, first []resource.ID) {
	for _, id := range p.order {
		if p.rows[id].Orphaned && !p.before[id].Orphaned {
			if n++; n <= maxLeft {
				first = append(first, id)
			}
		}
	}
	slices.Sort(first)
	return n, first
}

// compareVersions counts the resources that are new or have another intent in v, and those that
// have left. entries are the entries of v. Chunks that both versions share are not read.
func (p *exporting) compareVersions(
	ctx context.Context,
	last, v state.Version,
	entries []version.Entry,
) (changed, removed int, err error) {
	shared := version.SharedChunks(last.Chunks, v.Chunks)
	before, err := version.ReadChunks(ctx, p.pl.Files, version.Without(last.Chunks, shared))
	if err != nil {
		return 0, 0, err
	}
	for i := range entries {
		en := &entries[i]
		if shared[v.Chunks[version.ChunkOf(en.ID, len(v.Chunks))]] {
			continue
		}
		if old, had := before[en.ID]; !had || old.Hash != en.Hash {
			changed++
		}
		delete(before, en.ID)
	}
	return changed, len(before), nil
}
