package fulfil

import (
	"context"
	"errors"
	"time"

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

// watcher watches what becomes of what was exported, and tells the lifecycles.
type watcher struct {
	*Config
	agenda   *agenda
	results  *results
	outcomes *outcomes
}

// watch looks what became of the resources of instances, and tells their lifecycles.
func (w *watcher) watch(ctx context.Context) error {
	jobs := w.agenda.jobs(inventory.TaskWatch)
	of := make([]*inventory.Record, len(jobs))
	for i := range jobs {
		of[i] = jobs[i].rec
	}
	byID, err := w.outcomes.rowsOf(ctx, of)
	if err != nil {
		return err
	}
	var changes []inventory.Change
	var all error
	for _, j := range jobs {
		outcome := w.outcomes.of(j.rec, byID)
		if outcome == lifecycle.Pending {
			if j.rec.Due.After(w.now()) {
				continue // it has been looked at just now, or whoever runs them notifies
			}
			rec := *j.rec
			rec.Due = w.now().Add(w.pause(&rec))
			changes = append(changes, inventory.Change{Record: rec})
			continue
		}
		c, err := w.results.advance(ctx, j.rec.Finish(j.task), lifecycle.Resources{
			Desired: j.task.Number, Outcome: outcome,
		})
		if err != nil {
			// it keeps no other from going on
			all = errors.Join(all, w.results.postpone(j.rec, err))
			continue
		}
		w.outcomes.sayWhy(&c, outcome, byID)
		changes = append(changes, c)
	}
	return errors.Join(all, w.results.write(ctx, changes))
}

// pause is how long to wait before the resources of an instance are looked at again.
func (w *watcher) pause(rec *inventory.Record) time.Duration {
	switch {
	case w.Deploy != nil:
		return firstLook
	case w.Notified && len(rec.Follows) > 0: // whoever runs what is not its own does not notify
		return firstUnnotified
	case w.Notified:
		return min(max(w.now().Sub(rec.Updated)/lookPart, firstUnnotified), lastUnnotified)
	}
	return min(max(w.now().Sub(rec.Updated)/lookPart, firstLook), lastLook)
}
