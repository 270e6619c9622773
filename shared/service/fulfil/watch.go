package fulfil

import (
	"context"
	"errors"
	"time"

	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// The pauses between checks of resources: 1/lookPart of the time that they have taken so far,
// within bounds.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 5 * time.Second
	lookPart  = 8
	// The bounds if the deploying process sends notices. The checks then only recover from lost
	// notices.
	firstUnnotified = time.Minute
	lastUnnotified  = 10 * time.Minute
)

// watcher checks the progress of exported resources, and reports it to the lifecycles.
type watcher struct {
	*Config
	agenda   *agenda
	results  *results
	outcomes *outcomes
}

// watch checks the outcomes of the resources of instances, and reports them to their lifecycles.
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
				continue // the last check was recent, or a notice will follow
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
			// the other instances go on
			all = errors.Join(all, w.results.postpone(j.rec, err))
			continue
		}
		w.outcomes.sayWhy(&c, outcome, byID)
		changes = append(changes, c)
	}
	return errors.Join(all, w.results.write(ctx, changes))
}

// pause returns the time until the next check of the resources of an instance.
func (w *watcher) pause(rec *inventory.Record) time.Duration {
	switch {
	case w.Deploy != nil:
		return firstLook
	case w.Notified && len(rec.Follows) > 0: // runs of followed resources send it no notice
		return firstUnnotified
	case w.Notified:
		return min(max(w.now().Sub(rec.Updated)/lookPart, firstUnnotified), lastUnnotified)
	}
	return min(max(w.now().Sub(rec.Updated)/lookPart, firstLook), lastLook)
}
