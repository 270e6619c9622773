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

// lookEvery is how often a worker asks what has become of resources that nobody waits for: a repair that
// fails, or something that is well again.
const (
	lookEvery = 2 * time.Second
	// lookBack is how much longer ago resources may have been run that are looked at: a run is
	// written some time after its end, by a clock of its own.
	lookBack = 5 * time.Minute
)

// looks is how far a worker has looked at what nobody waits for.
type looks struct {
	asked time.Time // whether something has become of any resource
	all   time.Time // at all rows that were written by then
	last  int64     // the commit up to which rows were looked at (state.ChangeLog); 0: none
	// open are rows of which an instance may not know yet: they are looked at again.
	open []resource.ID
}

// forget looks at all rows again: another worker may have told instances something else.
func (l *looks) forget() { l.last, l.open = 0, nil }

// look tells lifecycles what has become of resources since they were deployed.
func (w *Worker) look(ctx context.Context) error {
	if now := w.now(); now.Sub(w.looks.asked) < lookEvery {
		return nil
	}
	w.looks.asked = w.now()
	return w.lookAtAll(ctx, w.looks.all)
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

// lookAtAll looks at the resources of which a row was written since the last look, and tells the
// lifecycles of their instances. Where these rows are not known, it looks at all rows that are not as
// wanted, or were run since a time. Instances that a task exports or watches are left to it.
func (w *Worker) lookAtAll(ctx context.Context, since time.Time) error {
	began := w.now()
	l := &lookRound{Worker: w, changed: map[resource.ID]row{}}
	last, err := l.read(ctx, since.Add(-lookBack))
	if err != nil {
		return err
	}
	concerned, err := l.concerned(ctx)
	if err != nil {
		return err
	}
	idle, err := l.idle(ctx, slices.Sorted(maps.Keys(concerned)))
	if err != nil {
		return err
	}
	if err := l.tell(ctx, idle); err != nil {
		return err
	}
	w.looks.all, w.looks.last, w.looks.open = began, last, nil
	for id, r := range l.changed {
		if slices.ContainsFunc(r.of, func(set string) bool { return l.open[set] }) {
			w.looks.open = append(w.looks.open, id)
		}
	}
	return nil
}

// row is a row that may have something new for instances.
type row struct {
	set string
	of  []string // the instances that it is told to
}

// lookRound is one look.
type lookRound struct {
	*Worker
	changed map[resource.ID]row
	// open are instances that were told something, or have a task: what they know is looked at again.
	open map[string]bool
}

// read reads the rows that are looked at, and returns the commit up to which these are.
func (l *lookRound) read(ctx context.Context, since time.Time) (int64, error) {
	var c state.Changed
	if log, is := l.Engine.State.(state.ChangeLog); is {
		var err error
		if c, err = log.Changed(ctx, l.Env, l.looks.last); err != nil {
			return 0, err
		}
	}
	found := func(r *state.Row, set string) { l.changed[r.ID] = row{set: set} }
	if c.Known {
		return c.Last, l.outcomes.each(ctx, slices.Concat(c.IDs, l.looks.open), found)
	}
	return c.Last, l.outcomes.scan(ctx, func(r *state.Row) bool {
		status := r.Status()
		asWanted := status == state.StatusDeployed || status == state.StatusNonCompliant
		return !r.Orphaned && (!asWanted || !r.LastAt.Before(since))
	}, found)
}

// concerned returns the sets of changed rows, and the instances that follow one of them.
func (l *lookRound) concerned(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for id, r := range l.changed {
		if r.set != "" {
			r.of = append(r.of, r.set)
			out[r.set], l.changed[id] = true, r
		}
	}
	followers := l.following.known
	if l.turn != "" || followers == nil {
		var err error
		if followers, err = l.following.all(ctx); err != nil {
			return nil, err
		}
	}
	for follower, of := range followers {
		for _, id := range idsOf(of.Resources) {
			if r, is := l.changed[id]; is {
				r.of = append(r.of, follower)
				out[follower], l.changed[id] = true, r
			}
		}
	}
	return out, nil
}

// idle returns those of instances that no task exports or watches.
func (l *lookRound) idle(ctx context.Context, sets []string) ([]inventory.Record, error) {
	l.open = map[string]bool{}
	var out []inventory.Record
	for _, set := range sets {
		rec, err := l.Instances.Instance(ctx, l.Env, set)
		switch {
		case fault.KindOf(err) == fault.NotFound: // a set of something else
		case err != nil:
			return nil, err
		case rec.Deleted, has(&rec, inventory.TaskExport), has(&rec, inventory.TaskWatch):
		default:
			out = append(out, rec)
		}
	}
	return out, nil
}

// tell tells lifecycles what has become of their resources, and notes which ones did not know.
func (l *lookRound) tell(ctx context.Context, idle []inventory.Record) error {
	of := make([]*inventory.Record, len(idle))
	for i := range idle {
		of[i] = &idle[i]
	}
	rows, err := l.outcomes.rowsOf(ctx, of)
	if err != nil {
		return err
	}
	for _, rec := range of {
		exported := rec.Exported == 0 || rec.Exported == rec.Desired // else an export tells it
		l.open[rec.ID] = len(rec.Tasks) > 0 || exported && l.outcomes.of(rec, rows) != rec.Outcome
	}
	_, err = l.tellRows(ctx, idle, rows)
	return err
}
