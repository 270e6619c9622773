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
	// settled are the revisions of rows about which all instances knew at the last look.
	settled map[resource.ID]int64
}

// forget looks at all rows again: another worker may have told instances something else.
func (l *looks) forget() { l.settled = nil }

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
// not as wanted, and tells their lifecycles. Those that a task watches are left to it, and rows that
// an earlier look has settled are skipped.
func (w *Worker) lookAtAll(ctx context.Context, since time.Time) error {
	began := w.now()
	l := &lookRound{Worker: w, settled: map[resource.ID]int64{}, changed: map[resource.ID]row{}}
	if err := l.scan(ctx, since.Add(-lookBack)); err != nil {
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
	for id, r := range l.changed {
		if !slices.ContainsFunc(r.of, func(set string) bool { return l.open[set] }) {
			l.settled[id] = r.rev
		}
	}
	w.looks.settled, w.looks.all = l.settled, began
	return nil
}

// row is a row that may have something new for instances.
type row struct {
	rev int64
	set string
	of  []string // the instances that it is told to
}

// lookRound is one look at all resources.
type lookRound struct {
	*Worker
	settled map[resource.ID]int64 // the revisions of rows about which all instances know
	changed map[resource.ID]row   // all others
	// open are instances that were told something, or are told it later by a task: what they know is
	// looked at again.
	open map[string]bool
}

// scan finds the rows that are looked at. One that was settled stays so until it is written again.
func (l *lookRound) scan(ctx context.Context, since time.Time) error {
	return l.outcomes.scan(ctx, func(r *state.Row) bool {
		status := r.Status()
		asWanted := status == state.StatusDeployed || status == state.StatusNonCompliant
		if r.Orphaned || asWanted && r.LastAt.Before(since) {
			return false
		}
		if rev, is := l.looks.settled[r.ID]; is && rev == r.Rev {
			l.settled[r.ID] = rev
			return false
		}
		return true
	}, func(r *state.Row, set string) { l.changed[r.ID] = row{rev: r.Rev, set: set} })
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
		case rec.Deleted:
		case has(&rec, inventory.TaskExport) || has(&rec, inventory.TaskWatch):
			l.open[set] = true
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
		l.open[rec.ID] = len(rec.Tasks) > 0 || rec.Exported != 0 && rec.Exported != rec.Desired ||
			l.outcomes.of(rec, rows) != rec.Outcome
	}
	_, err = l.tellRows(ctx, idle, rows)
	return err
}
