package fulfil

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Bounds of how often resources are looked at: after a part of the time that they have taken.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 5 * time.Second
	lookPart  = 8
	// Where whoever runs them sends a notice, they are for resources whose notice was lost.
	firstUnnotified = time.Minute
	lastUnnotified  = 10 * time.Minute
)

// watch looks what became of the resources of instances, and tells their lifecycles.
func (r *round) watch(ctx context.Context) error {
	jobs := r.jobs(inventory.TaskWatch)
	var ids []resource.ID
	for _, j := range jobs {
		of, err := r.resources(ctx, j.rec)
		if err != nil {
			return err
		}
		ids = append(ids, of...)
		ids = append(ids, idsOf(j.rec.Follows)...)
	}
	if len(jobs) == 0 {
		return nil
	}
	rows, err := r.Engine.State.Rows(ctx, r.Env, distinct(ids))
	if err != nil {
		return err
	}
	byID := make(map[resource.ID]*state.Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	var changes []inventory.Change
	var all error
	for _, j := range jobs {
		outcome := r.outcomeOf(j.rec, byID)
		if outcome == lifecycle.Pending {
			if j.rec.Due.After(r.now()) {
				continue // it has been looked at just now, or whoever runs them notifies
			}
			rec := *j.rec
			rec.Due = r.now().Add(r.pause(&rec))
			changes = append(changes, inventory.Change{Record: rec})
			continue
		}
		c, err := r.advance(ctx, j.rec.Finish(j.task), lifecycle.Resources{
			Desired: j.task.Number, Outcome: outcome,
		})
		if err != nil {
			all = errors.Join(all, r.postpone(j.rec, err)) // it keeps no other from going on
			continue
		}
		r.explained(&c, outcome, byID)
		if outcome == lifecycle.Failed {
			r.counts = nil // it may be well before the counts are read again
		}
		changes = append(changes, c)
	}
	return errors.Join(all, r.write(ctx, changes))
}

// pause is how long to wait before the resources of an instance are looked at again.
func (r *round) pause(rec *inventory.Record) time.Duration {
	switch {
	case r.Deploy != nil:
		return firstLook
	case r.Notified && len(rec.Follows) > 0: // whoever runs what is not its own does not notify
		return firstUnnotified
	case r.Notified:
		return min(max(r.now().Sub(rec.Updated)/lookPart, firstUnnotified), lastUnnotified)
	}
	return min(max(r.now().Sub(rec.Updated)/lookPart, firstLook), lastLook)
}

// outcomeOf returns what became of the resources of an instance, and of those that it follows.
func (w *Worker) outcomeOf(
	rec *inventory.Record, rows map[resource.ID]*state.Row,
) lifecycle.Outcome {
	return outcome(w.sets[rec.ID], idsOf(rec.Follows), rows)
}

// outcome returns what became of an instance's own resources, and of those that it follows: failed
// if one has and nothing goes on.
func outcome(own, followed []resource.ID, rows map[resource.ID]*state.Row) lifecycle.Outcome {
	failed := false
	for i, id := range slices.Concat(own, followed) {
		row := rows[id]
		if i >= len(own) && (row == nil || row.Orphaned) {
			continue // nobody wants it any more
		}
		if row == nil {
			failed = true // it has left the model
			continue
		}
		switch status := row.Status(); {
		case status == state.StatusDeployed, status == state.StatusNonCompliant:
		case row.Ticket != 0, status == state.StatusAvailable, status == state.StatusDeploying:
			return lifecycle.Pending
		default:
			failed = true
		}
	}
	if failed {
		return lifecycle.Failed
	}
	return lifecycle.Deployed
}

// resources returns the resources of an instance. Where the record does not say it, they are looked
// for, all at once.
func (w *Worker) resources(ctx context.Context, rec *inventory.Record) ([]resource.ID, error) {
	id := rec.ID
	if rec.Resources != nil { // another worker may have exported them
		w.sets[id] = idsOf(rec.Resources)
		return w.sets[id], nil
	}
	if ids, ok := w.sets[id]; ok {
		return ids, nil
	}
	found := map[string][]resource.ID{}
	if err := w.rows(ctx, func(row *state.Row) bool { return !row.Orphaned },
		func(row *state.Row, set string) { found[set] = append(found[set], row.ID) }); err != nil {
		return nil, err
	}
	for set, ids := range found {
		if _, ok := w.sets[set]; !ok {
			w.sets[set] = ids
		}
	}
	if _, ok := w.sets[id]; !ok {
		w.sets[id] = nil
	}
	return w.sets[id], nil
}

func idsOf(names []string) []resource.ID {
	out := make([]resource.ID, len(names))
	for i, name := range names {
		out[i] = resource.ID(name)
	}
	return out
}

// page is how many rows are read at once.
const page = 5000

// rows calls f for each resource that is wanted, also for those that left the model, with its set
// or "".
func (w *Worker) rows(
	ctx context.Context, wanted func(row *state.Row) bool, f func(row *state.Row, set string),
) error {
	after := resource.ID("")
	for {
		rows, err := w.Engine.State.ScanRows(ctx, w.Env, after, page)
		if err != nil || len(rows) == 0 {
			return err
		}
		for i := range rows {
			if !wanted(&rows[i]) {
				continue
			}
			res, err := resource.Decode(rows[i].Body)
			if err == nil {
				f(&rows[i], res.Set)
			}
		}
		after = rows[len(rows)-1].ID
	}
}

// lookEvery is how often it is asked whether something has become of resources that nobody waits
// for: a repair that fails, or something that is well again. Two that change places leave the
// counts as they were: all are looked at in any case after lookAnyway.
const (
	lookEvery  = 2 * time.Second
	lookAnyway = time.Minute
	// lookBack is how much longer ago resources may have been run that are looked at: a run is
	// written some time after its end, by a clock of its own.
	lookBack = 5 * time.Minute
)

// look tells lifecycles what has become of resources since they were deployed.
func (w *Worker) look(ctx context.Context) error {
	if now := w.now(); now.Sub(w.looked) < lookEvery {
		return nil
	}
	w.looked = w.now()
	counts, err := w.Engine.State.Counts(ctx, w.Env)
	if err != nil || maps.Equal(counts, w.counts) && w.looked.Before(w.lookedAt.Add(lookAnyway)) {
		return err
	}
	if err := w.lookAtAll(ctx, w.lookedAt); err == nil {
		w.counts = counts
	}
	return err
}

// lookAgain looks for what a notice was lost of, if Again has passed since it was looked for last.
// What was run longer ago than twice that was looked at by another process.
func (w *Worker) lookAgain(ctx context.Context) error {
	now := w.now()
	if w.Again == 0 || now.Before(w.lookedAt.Add(w.Again)) {
		return nil
	}
	return w.lookAtAll(ctx, now.Add(-2*w.Again))
}

// lookAtAll looks at the resources of all instances of which something was run since a time, or is
// not as wanted, and tells their lifecycles. Those that a task watches are left to it.
func (w *Worker) lookAtAll(ctx context.Context, since time.Time) error {
	began := w.now()
	since = since.Add(-lookBack)
	sets, ran := map[string]bool{}, map[resource.ID]bool{}
	if err := w.rows(ctx, func(row *state.Row) bool {
		status := row.Status()
		asWanted := status == state.StatusDeployed || status == state.StatusNonCompliant
		return !row.Orphaned && (!asWanted || !row.LastAt.Before(since))
	}, func(row *state.Row, set string) { sets[set], ran[row.ID] = true, true }); err != nil {
		return err
	}
	delete(sets, "")
	followers := w.following
	if w.turn != "" || followers == nil {
		var err error
		if followers, err = w.allFollowers(ctx); err != nil {
			return err
		}
	}
	for id, of := range followers {
		if slices.ContainsFunc(of.Resources, func(id string) bool { return ran[resource.ID(id)] }) {
			sets[id] = true
		}
	}
	var idle []inventory.Record
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		rec, err := w.Instances.Instance(ctx, w.Env, set)
		switch {
		case fault.KindOf(err) == fault.NotFound: // a set of something else
		case err != nil:
			return err
		case !rec.Deleted && !has(&rec, inventory.TaskExport) && !has(&rec, inventory.TaskWatch):
			idle = append(idle, rec)
		}
	}
	if _, err := w.tellOutcomes(ctx, idle); err != nil {
		return err
	}
	w.lookedAt = began
	return nil
}
