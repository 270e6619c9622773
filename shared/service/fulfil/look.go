package fulfil

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
)

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

// looks is when a worker has looked at what nobody waits for, and what it saw.
type looks struct {
	asked  time.Time // whether something has become of any resource
	all    time.Time // at the resources of all instances
	counts map[state.Status]int
}

// look tells lifecycles what has become of resources since they were deployed.
func (w *Worker) look(ctx context.Context) error {
	if now := w.now(); now.Sub(w.looks.asked) < lookEvery {
		return nil
	}
	w.looks.asked = w.now()
	counts, err := w.Engine.State.Counts(ctx, w.Env)
	if err != nil {
		return err
	}
	if maps.Equal(counts, w.looks.counts) && w.looks.asked.Before(w.looks.all.Add(lookAnyway)) {
		return nil
	}
	if err := w.lookAtAll(ctx, w.looks.all); err == nil {
		w.looks.counts = counts
	}
	return err
}

// lookAgain looks for what a notice was lost of, if Again has passed since it was looked for last.
// What was run longer ago than twice that was looked at by another process.
func (w *Worker) lookAgain(ctx context.Context) error {
	now := w.now()
	if w.Again == 0 || now.Before(w.looks.all.Add(w.Again)) {
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
	if err := w.outcomes.scan(ctx, func(row *state.Row) bool {
		status := row.Status()
		asWanted := status == state.StatusDeployed || status == state.StatusNonCompliant
		return !row.Orphaned && (!asWanted || !row.LastAt.Before(since))
	}, func(row *state.Row, set string) { sets[set], ran[row.ID] = true, true }); err != nil {
		return err
	}
	delete(sets, "")
	followers := w.following.known
	if w.turn != "" || followers == nil {
		var err error
		if followers, err = w.following.all(ctx); err != nil {
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
	w.looks.all = began
	return nil
}
