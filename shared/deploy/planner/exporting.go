package planner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// next is the version that an export would store.
type next struct {
	version, last state.Version
	fresh         bool                // it differs from the last one
	sums          [][sha256.Size]byte // of the texts of its chunks
	entries       []version.Entry
	blobs         []state.Blob
	volatile      bool
	stays         map[resource.ID]bool // entries that are unchanged, but for requirements
	delta         *delta               // the differences, if known; then there are no entries
	// the entries of the version in force, if the edit has read them
	base     map[resource.ID]version.Entry
	contents *version.Contents // its contents to cache; nil: none
}

// exporting is the part of an export that is serialised with other exports.
type exporting struct {
	*planning
	targets *targets       // the resources that the export selects; nil: all
	all     bool           // the caller needs all entries of the version
	check   bool           // the caller needs only the problems, and no version
	places  version.Places // of the resources of the export
	since   bool           // the export has only the changes since the last one
}

// next builds the version that results from an export, and stores nothing.
func (p *exporting) next(ctx context.Context, x Export) (next, error) {
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

// applyWhole applies an export to all resources of its base version.
func (p *exporting) applyWhole(ctx context.Context, x Export, last state.Version) (next, error) {
	if p.dry || x.Expect != "" || x.Limits != nil { // it may be exported again
		x.Model = x.Model.Clone()
	}
	editor := &editor{p.planning}
	e, err := editor.edit(ctx, x, last)
	if err != nil {
		return next{}, err
	}
	p.targets = e.targets
	set, err := editor.apply(ctx, e)
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
	var diff released
	if !p.isCarriedOut(x, next) {
		if diff, err = release(ctx, p.planning, next); err != nil {
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
	out.LeftBehind, out.FirstLeft = leftBehind(p)
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

// leftBehind returns how many rows the plan orphans, and the first of these.
func leftBehind(p *exporting) (n int, first []resource.ID) {
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

// checksAll reports whether an export requests a check of all resources.
func checksAll(x *Export) bool {
	return x.Check && x.Target.Empty() && len(x.CheckAgents) == 0
}

// request plans the requests of an export besides the release, and writes the whole plan.
func (p *exporting) request(ctx context.Context, x Export) error {
	some := x.Check && !checksAll(&x)
	switch {
	case some:
		if err := p.checkTargets(ctx, x.CheckAgents); err != nil {
			return err
		}
	case x.Check:
		p.startWave(state.PriorityUserRepair, false)
		if err := p.retryRemovals(ctx, state.PriorityUserRepair); err != nil {
			return err
		}
	}
	if x.RetryFailed {
		if err := p.scheduleUnfinished(ctx, state.PriorityUserDeploy, true,
			p.targets.match); err != nil {
			return err
		}
	}
	again, err := p.retry(ctx, x.Retry)
	if err != nil {
		return err
	}
	if some || x.RetryFailed || again {
		graph, err := p.pl.Graphs.Get(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		p.orderBy(graph) // with what the release has planned
	}
	return p.commitAll(ctx)
}

// retry schedules failed and skipped resources among ids, and reports whether there may be any. If
// the environment has none, it reads no row.
func (p *exporting) retry(ctx context.Context, ids []resource.ID) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}
	n, err := countRows(ctx, p.planning, state.StatusFailed, state.StatusUnavailable,
		state.StatusSkipped)
	if err != nil || n == 0 {
		return false, err
	}
	return true, retryRows(ctx, p.planning, ids, state.PriorityNewVersion, nil)
}

// storeVersion stores the files of a new version. The commit that schedules its changes also writes
// the version itself; see Planner.Export for the reason.
func (p *exporting) storeVersion(ctx context.Context, next next) error {
	v, last, blobs := next.version, next.last, next.blobs
	if x := next.contents; x != nil && next.fresh && relates(&p.pl.Config) != "" {
		var more []state.Blob
		v.Contents, more = x.Stored(relates(&p.pl.Config), last.Contents)
		blobs = slices.Concat(blobs, more)
	}
	if next.fresh {
		places, err := p.storePlaces(ctx, &next, &v)
		if err != nil {
			return err
		}
		blobs = slices.Concat(blobs, places)
	}
	if p.repair {
		if err := p.restoreFiles(ctx, blobs); err != nil {
			return err
		}
	}
	if !next.fresh {
		return nil
	}
	// Files of the last version are stored, since nothing removes them.
	var ask []string
	for _, h := range v.Files {
		if _, found := slices.BinarySearch(last.Files, h); !found {
			ask = append(ask, h)
		}
	}
	if len(ask) > 0 {
		missing, err := p.pl.Files.Missing(ctx, ask)
		if err != nil {
			return fault.Wrap(fault.Unknown, "find files", err)
		}
		if len(missing) > 0 {
			return fault.New(fault.NotFound, "store version", "file %s is not stored any more",
				missing[0]).WithHint("export again")
		}
	}
	// Most other blobs are new, and storing an existing blob costs no more than looking it up.
	put := slices.DeleteFunc(slices.Clone(blobs),
		func(b state.Blob) bool { return slices.Contains(last.Chunks, b.Hash) })
	if err := p.pl.putFiles(ctx, put); err != nil {
		return err
	}
	p.store.version = &v
	return nil
}

func setsOf(resources []resource.Resource) []string {
	seen := map[string]bool{}
	var sets []string
	for i := range resources {
		if s := resources[i].Set; s != "" && !seen[s] {
			seen[s] = true
			sets = append(sets, s)
		}
	}
	slices.Sort(sets)
	return sets
}
