package deploy

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// wake schedules what was skipped, has not changed itself, and does not wait any more for something that it waited for: edges turn round when
// a resource must not exist, which also others decide that it is connected with, and go with one that leaves the model.
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

// wakeOne schedules a row that lost something it requires, and has not changed itself. A run of it that has begun may be skipping it, for what it
// does not wait for any more: that is noticed because the row is written.
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

// readWave reads how far the wave is, once.
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
