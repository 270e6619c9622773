package fulfil

import (
	"context"
	"errors"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Visit does the tasks of instances, and their follow-up tasks, until none can be done now. It
// covers the instances ids and, if all is set, all other instances with due tasks. Named instances
// without a task get the outcomes of their resources since the deployment. So do instances that
// follow these resources, or resources in no set (inventory.Shared).
//
// Visit starts no round after until, unless until is zero. It returns the ids of the instances with
// remaining tasks. A failure at one instance does not stop the others. Other workers may have run
// since the last Visit, or may still run: only the worker that began last exports.
//
// A process forgets between visits what it learned about instances but did not write. A visit that
// stops halfway therefore leaves the same state as a crash of Round.
func (w *Worker) Visit(
	ctx context.Context, ids []string, all bool, until time.Time,
) ([]string, error) {
	w.memory.clear()
	if err := w.begin(ctx); err != nil {
		return nil, err
	}
	defs, left := w.definitions(), map[string]bool{}
	due, failed := w.visited(ctx, ids, all)
	for {
		r := w.round(defs, left)
		due = slices.DeleteFunc(due, func(rec inventory.Record) bool { return !w.ready(&rec) })
		for i := range due {
			r.agenda.due = append(r.agenda.due, &due[i])
		}
		switch {
		case len(due) == 0:
			return nil, failed
		case !until.IsZero() && w.Engine.Clock.Now().After(until):
			return idsIn(due), failed
		}
		failed = errors.Join(failed, r.first(ctx))
		if ctx.Err() == nil {
			failed = errors.Join(failed, r.watch.watch(ctx))
		}
		if len(r.results.wrote) == 0 && !r.results.moved || ctx.Err() != nil {
			return nil, failed // all remaining tasks wait for something else
		}
		due = r.results.next(due)
	}
}

// visited returns the named instances and, if all is set, the instances that are due. It reports
// the outcomes of resources to instances without a task, and to the followers of named instances.
func (w *Worker) visited(
	ctx context.Context, ids []string, all bool,
) ([]inventory.Record, error) {
	v := &visit{Worker: w, known: map[string]bool{inventory.Shared: true}}
	if all {
		if err := w.lookAgain(ctx); err != nil { // its results are due immediately
			return nil, err
		}
		var err error
		if v.due, err = w.Instances.Due(ctx, w.Env, w.now(), maxDue); err != nil {
			return nil, err
		}
	}
	for i := range v.due {
		v.known[v.due[i].ID] = true
	}
	if err := v.read(ctx, ids); err != nil {
		return nil, err
	}
	ran := slices.Concat(v.due, v.idle)
	followers, err := w.following.concerned(ctx, ran, slices.Contains(ids, inventory.Shared))
	if err == nil {
		err = v.read(ctx, followers)
	}
	if err != nil {
		return nil, err
	}
	told, err := w.tellOutcomes(ctx, v.idle)
	return append(v.due, told...), err
}

// visit collects the instances that a Visit starts with.
type visit struct {
	*Worker
	known     map[string]bool
	due, idle []inventory.Record // with a task, and without one
}

// read reads instances that were not read yet.
func (v *visit) read(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if v.known[id] {
			continue
		}
		v.known[id] = true
		rec, err := v.Instances.Instance(ctx, v.Env, id)
		switch {
		case fault.KindOf(err) == fault.NotFound: // the set belongs to no instance
		case err != nil:
			return err
		case len(rec.Tasks) > 0:
			v.due = append(v.due, rec)
		case !rec.Deleted && rec.Resources != nil:
			v.idle = append(v.idle, rec)
		}
	}
	return nil
}

// tellOutcomes reports the outcomes of resources to instances without a task. It returns the
// instances that were written.
func (w *Worker) tellOutcomes(
	ctx context.Context, idle []inventory.Record,
) ([]inventory.Record, error) {
	of := make([]*inventory.Record, len(idle))
	for i := range idle {
		of[i] = &idle[i]
	}
	byID, err := w.outcomes.rowsOf(ctx, of)
	if err != nil {
		return nil, err
	}
	return w.tellRows(ctx, idle, byID)
}

// tellRows is tellOutcomes with the rows of all resources of the instances.
func (w *Worker) tellRows(
	ctx context.Context, idle []inventory.Record, byID map[resource.ID]*state.Row,
) ([]inventory.Record, error) {
	if len(byID) == 0 {
		return nil, nil
	}
	out := w.round(w.definitions(), map[string]bool{}).results
	var changes []inventory.Change
	var all error
	for i := range idle {
		rec := idle[i]
		if rec.Exported != 0 && rec.Exported != rec.Desired {
			continue // the deployed resources are not those that the instance wants
		}
		outcome := w.outcomes.of(&rec, byID)
		if outcome == lifecycle.Pending || outcome == rec.Outcome {
			continue
		}
		c, err := out.advance(ctx, rec, lifecycle.Resources{Desired: rec.Desired, Outcome: outcome})
		if err != nil {
			all = errors.Join(all, out.postpone(&rec, err))
			continue
		}
		w.outcomes.sayWhy(&c, outcome, byID)
		changes = append(changes, c)
	}
	all = errors.Join(all, out.write(ctx, changes))
	return out.next(nil), all
}

// ready reports whether an instance has a task that can be done now. Outcomes can always be
// checked, unless a run is certain to follow and to send a notice.
func (w *Worker) ready(rec *inventory.Record) bool {
	if _, later := w.memory.later[rec.ID]; later {
		return false
	}
	if has(rec, inventory.TaskWatch) && !w.memory.awaited[rec.ID] {
		return true
	}
	return len(rec.Tasks) > 0 && !rec.Due.After(w.now())
}

func idsIn(records []inventory.Record) []string {
	out := make([]string, len(records))
	for i := range records {
		out[i] = records[i].ID
	}
	return out
}
