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

// lookEvery is the interval between scans for resources that changed while no task watched them,
// such as a failed repair or a recovered resource.
const (
	lookEvery = 2 * time.Second
	// lookBack extends the time span of a scan: a run is written some time after its end, with a
	// timestamp of another clock.
	lookBack = 5 * time.Minute
)

// looks is the progress of the scans of unwatched resources.
type looks struct {
	asked time.Time // the time of the last scan, successful or not
	all   time.Time // the start of the last successful scan
	last  int64     // the last commit that was scanned (state.ChangeLog); 0: none
	// open are rows whose outcome an instance may lack. The next scan reads them again.
	open []resource.ID
}

// forget restarts the scans: another worker may have reported other outcomes to the instances.
func (l *looks) forget() { l.last, l.open = 0, nil }

// look reports changes of resources since their deployment to the lifecycles.
func (w *Worker) look(ctx context.Context) error {
	if now := w.now(); now.Sub(w.looks.asked) < lookEvery {
		return nil
	}
	w.looks.asked = w.now()
	return w.lookAtAll(ctx, w.looks.all)
}

// lookAgain looks for lost notices if Again has passed since the last scan. Another process has
// covered runs that are older than two intervals.
func (w *Worker) lookAgain(ctx context.Context) error {
	now := w.now()
	if w.Again == 0 || now.Before(w.looks.all.Add(w.Again)) {
		return nil
	}
	return w.lookAtAll(ctx, now.Add(-2*w.Again))
}

// lookAtAll scans the rows that were written since the last scan, and reports their outcomes to the
// lifecycles. If these rows are unknown, it scans all rows that are not as wanted or were run since
// a time. It skips instances that a task exports or watches.
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

// row is a row that may hold news for instances.
type row struct {
	set string
	of  []string // the instances that are informed of the row
}

// lookRound is one scan.
type lookRound struct {
	*Worker
	changed map[resource.ID]row
	// open are instances that were informed or have a task. The next scan reads their rows again.
	open map[string]bool
}

// read collects the rows to check, and returns the commit up to which they are complete.
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

// concerned returns the sets of changed rows, and the instances that follow such a row.
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

// idle returns the instances of sets that no task exports or watches.
func (l *lookRound) idle(ctx context.Context, sets []string) ([]inventory.Record, error) {
	l.open = map[string]bool{}
	var out []inventory.Record
	for _, set := range sets {
		rec, err := l.Instances.Instance(ctx, l.Env, set)
		switch {
		case fault.KindOf(err) == fault.NotFound: // the set belongs to no instance
		case err != nil:
			return nil, err
		case rec.Deleted, has(&rec, inventory.TaskExport), has(&rec, inventory.TaskWatch):
		default:
			out = append(out, rec)
		}
	}
	return out, nil
}

// tell reports outcomes to lifecycles, and notes the instances that lacked them.
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
		exported := rec.Exported == 0 || rec.Exported == rec.Desired // else an export reports it
		l.open[rec.ID] = len(rec.Tasks) > 0 || exported && l.outcomes.of(rec, rows) != rec.Outcome
	}
	_, err = l.tellRows(ctx, idle, rows)
	return err
}
