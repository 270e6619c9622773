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

// Visit does what instances have to do, and what follows from it, until nothing of it can be done
// now: those that are named and, if all is set, all others that have something to do. Of those that
// are named and have nothing to do it is looked what has become of their resources since they were
// deployed, and so it is of those that follow these, or what is in no set (inventory.Shared).
// Nothing is begun after a time, unless that is zero: what is left then is returned. One instance
// at which something fails keeps no other from going on. Others may have been at work since the
// last Visit, or still be: the one that has begun last exports.
//
// What a process was told of instances that it has not written itself is not remembered between
// visits, so a visit that ends in the middle leaves what a crash of Round leaves.
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
			return nil, failed // all that is left waits for something else
		}
		due = r.results.next(due)
	}
}

// visited returns instances that are named and, if all is set, those that are due. Of those that
// have no task, and of those that follow what is named, the lifecycle is told what has become of
// their resources.
func (w *Worker) visited(
	ctx context.Context, ids []string, all bool,
) ([]inventory.Record, error) {
	v := &visit{Worker: w, known: map[string]bool{inventory.Shared: true}}
	if all {
		if err := w.lookAgain(ctx); err != nil { // what follows from it is due at once
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

// visit is what a Visit begins with.
type visit struct {
	*Worker
	known     map[string]bool
	due, idle []inventory.Record // that have a task, and that have none
}

// read reads instances that are not known yet.
func (v *visit) read(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if v.known[id] {
			continue
		}
		v.known[id] = true
		rec, err := v.Instances.Instance(ctx, v.Env, id)
		switch {
		case fault.KindOf(err) == fault.NotFound: // a set of something else
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

// tellOutcomes tells the lifecycles of instances that have no task what has become of their
// resources, and returns those that have one then.
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
			continue // what is deployed is not what it wants
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

// ready reports whether an instance has something that can be done now. What became of resources
// can always be looked at, but where it is certain that something is yet to be run, and a notice
// follows.
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
