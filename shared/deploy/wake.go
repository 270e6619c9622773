package deploy

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// wake schedules rows that were skipped, are not planned otherwise, and no longer wait for something that they waited for. That happens
// without a change of their own when what they require leaves the model, and when an edge turns round because of what must not exist.
func (r *releaser) wake(ctx context.Context, old, now *Graph) error {
	ids := slices.Clone(r.skipped)
	for _, id := range rewired(old, now) {
		for _, q := range old.Requires(old.Node(id)) {
			if !now.requires(id, old.IDs[q]) {
				ids = append(ids, id)
				break
			}
		}
	}
	ids = slices.DeleteFunc(ids, func(id resource.ID) bool { return r.p.rows[id] != nil })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rows, err := r.p.load(ctx, ids)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		if err := r.readWave(ctx); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		r.p.set(rows[id], r.wakeOne)
	}
	return nil
}

// wakeOne schedules a row that no longer waits for something that it waited for. A run of it may be under way that skips it for just that;
// such a run finds that the row was written meanwhile.
func (r *releaser) wakeOne(row *Row) bool {
	switch {
	case row.Orphaned:
		return false
	case row.Blocked == BlockedTemp:
		row.Blocked = NotBlocked
		r.p.schedule(row, PriorityNewVersion)
	case row.Ticket != 0:
		r.p.schedule(row, row.Priority)
	case r.waveAsks(row):
		r.p.schedule(row, r.wave.Wave.Priority)
	default:
		return false
	}
	return true
}

// readWave reads how far the wave is, unless that was read already.
func (r *releaser) readWave(ctx context.Context) error {
	if r.wave != nil {
		return nil
	}
	s, err := r.p.e.State.Schedule(ctx, r.p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read schedule", err)
	}
	r.wave = &s
	return nil
}
