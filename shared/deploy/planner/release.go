package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// changeCounts counts the resources that a release changes and removes.
type changeCounts struct{ changed, removed int }

// planRelease plans the release of the version that an edit results in, or of a stored version. It
// reads and plans only resources that differ from the version in force; after an interrupted
// release, and while stored data may be lost, it compares all rows. Rows are written by commitAll;
// until then the release has not begun.
func planRelease(ctx context.Context, p *planning, n next) (changeCounts, error) {
	switch {
	case n.delta != nil:
		return planDelta(ctx, p, n)
	case p.repair || p.env.Releasing != 0:
		return planWhole(ctx, p, n.version, n.entries)
	}
	lost, err := lostValues(ctx, p, slices.DeleteFunc(slices.Clone(n.entries),
		func(en version.Entry) bool { return n.stays[en.ID] }), n.version.Agents)
	if err != nil || p.env.Released == n.version.Number && len(lost) == 0 {
		return changeCounts{}, err
	}
	old, err := p.pl.Client.Version(ctx, p.was, p.env.Released)
	if err != nil {
		return changeCounts{}, err
	}
	before, shared := n.base, map[string]bool(nil)
	if before == nil {
		shared = version.SharedChunks(old.Chunks, n.version.Chunks)
		before, err = version.ReadChunks(ctx, p.pl.Files, version.Without(old.Chunks, shared))
		if err != nil {
			return changeCounts{}, err
		}
	}
	var after []version.Entry
	for i := range n.entries {
		en := &n.entries[i]
		if lost[en.ID] {
			delete(before, en.ID)
			after = append(after, *en)
		} else if !shared[n.version.Chunks[version.ChunkOf(en.ID, len(n.version.Chunks))]] {
			if was, had := before[en.ID]; had && was.Same(en) {
				delete(before, en.ID)
				continue
			}
			after = append(after, *en)
		}
	}
	r := newReleaser(p, difference{v: n.version, agents: old.Agents, before: before, after: after,
		all: n.entries, stays: n.stays})
	return r.plan(ctx)
}

// planDelta is release for a bounded edit of the version in force.
func planDelta(ctx context.Context, p *planning, n next) (changeCounts, error) {
	if !n.fresh && len(n.delta.after) == 0 {
		return changeCounts{}, nil
	}
	r := newReleaser(p, difference{v: n.version, agents: n.last.Agents, before: n.delta.before,
		after: n.delta.after, delta: n.delta})
	return r.plan(ctx)
}

// resumeRelease finishes a release that was begun. It compares all rows, since it is unknown which
// rows the release has written.
func resumeRelease(ctx context.Context, p *planning) error {
	v, err := p.pl.Client.Version(ctx, p.was, p.env.Releasing)
	if err != nil {
		return err
	}
	byID, err := version.ReadChunks(ctx, p.pl.Files, v.Chunks)
	if err != nil {
		return err
	}
	if _, err := planWhole(ctx, p, v, version.SortedEntries(byID)); err != nil {
		return err
	}
	held := p.held
	if err := p.commitAll(ctx); err != nil {
		return err
	}
	p.notifyAgents(ctx, held)
	return nil
}

// planWhole plans the release of a version, whose resources are entries, from the current rows.
func planWhole(
	ctx context.Context,
	p *planning,
	v state.Version,
	entries []version.Entry,
) (changeCounts, error) {
	r := newReleaser(p, difference{
		v:      v,
		before: map[resource.ID]version.Entry{},
		after:  entries,
		all:    entries,
	})
	r.unasked = map[resource.ID]bool{}
	p.held = map[string]bool{}
	if err := p.pl.Client.EachRow(ctx, p.env.Name, func(row *state.Row) error {
		if p.env.Held(row) {
			p.held[row.Agent] = true
		}
		if row.Block() == state.BlockedTemp {
			// It may be skipped because of a requirement of the previous graph, which is no longer
			// known.
			r.skipped = append(r.skipped, row.ID)
		}
		if row.Lacking() {
			// Its dependants were to be blocked as well, and may not have been written.
			r.blocked = append(r.blocked, row.ID)
		}
		if row.Removing {
			r.removing = append(r.removing, row.ID)
		} else if !row.Orphaned {
			r.before[row.ID] = version.Entry{ID: row.ID, Hash: row.Hash, Body: row.Body}
		}
		return row.AddMissingFacts(r.unasked)
	}); err != nil {
		return changeCounts{}, err
	}
	return r.plan(ctx)
}

// storeGraph stores the graph that will be in force. It is stored before the commit that names it,
// since workers read it by that name. A crash in between leaves an unreferenced file.
func (p *planning) storeGraph(ctx context.Context) error {
	name, file := p.graph.Stored()
	if (name != p.env.Graph || p.repair) && !p.dry {
		if err := p.pl.putFiles(ctx, []state.Blob{file}); err != nil {
			return err
		}
		p.pl.Graphs.Keep(name, p.graph)
	}
	p.env.Graph = name
	return nil
}

// begin plans the record that the release of a version has begun.
func (r *releaser) begin(ctx context.Context) error {
	p := r.p
	if !r.same {
		if err := p.storeGraph(ctx); err != nil {
			return err
		}
	}
	if p.env.Releasing == 0 {
		p.env.ReleasingFrom = p.commits.ticket()
	}
	if r.v.Number <= p.was.Last && r.v.Number != p.was.Released {
		p.env.NoteRelease(state.Release{Version: r.v.Number, At: p.pl.Clock.Now(),
			Author: p.store.by.Author, Message: p.store.by.Message})
	}
	p.env.Releasing, p.env.Released = r.v.Number, r.v.Number
	if p.env.LastRepair.IsZero() { // timers start with the first release
		p.env.LastDeploy, p.env.LastRepair = p.pl.Clock.Now(), p.pl.Clock.Now()
	}
	return nil
}

// commitAll writes the plan. If there is a release, it records that the release is complete. If a
// wave was started, it notifies all agents.
//
// The first commit records that the release is under way, together with the rows. Another commit
// records that it is complete, after all rows are written, including rows that another writer had
// changed. No resource that the release schedules starts before that, since it could overtake a row
// that is still to be written. So the notices are sent after the second commit. After a crash in
// between, the next planner compares all rows; see resumeRelease.
func (p *planning) commitAll(ctx context.Context) error {
	wave := p.env.Wave.Epoch != p.was.Wave.Epoch
	if err := p.commit(ctx, scheduleChanges); err != nil {
		return err
	}
	if p.env.Releasing != 0 {
		p.env.Releasing, p.env.ReleasingFrom = 0, 0
		if err := p.commit(ctx, scheduleStays); err != nil {
			return err
		}
	}
	if wave {
		p.notifyWave(ctx)
	}
	return nil
}

// Release puts a stored version in force, an earlier or a later one, and schedules the resources
// that this changes. It stores no new version. Until the next export, partial exports are merged
// into the released version. by names who releases it, and the reason.
//
// The error is NotFound if the version is not stored, or no longer stored. It is Invalid if another
// owner has resource sets that the version lacks or has in another state, or had sets that the
// version would restore.
func (pl *Planner) Release(
	ctx context.Context, env string, number int, by state.Origin,
) (Exported, error) {
	var out Exported
	err := pl.plan(ctx, env, func(p *planning) error {
		p.store.by = by
		v, err := p.pl.Client.FindVersion(ctx, p.env, number)
		if err != nil {
			return err
		}
		byID, err := version.ReadChunks(ctx, pl.Files, v.Chunks)
		if err != nil {
			return err
		}
		if err := pl.keepsOwned(ctx, p.env, v); err != nil {
			return err
		}
		p.env.Applied = "" // the plan of an earlier apply is no longer in force
		if p.env.Base = v.Number; v.Number == p.env.Last {
			p.env.Base = 0
		}
		diff, err := planRelease(ctx, p,
			next{version: v, entries: version.SortedEntries(byID)})
		if err != nil {
			return err
		}
		out = Exported{Version: v.Number, Resources: v.Resources, Changed: diff.changed,
			Unchanged: v.Resources - diff.changed, Removed: diff.removed, Origin: v.Origin}
		out.Moved, out.Moves = p.moves.first()
		return p.commitAll(ctx)
	})
	return out, err
}
