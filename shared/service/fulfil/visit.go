package fulfil

import (
	"context"
	"errors"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
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
	clear(w.sets)
	clear(w.later)
	clear(w.told)
	clear(w.awaited)
	if err := w.begin(ctx); err != nil {
		return nil, err
	}
	kept, left := map[keptKey]definition.Kept{}, map[string]bool{}
	due, failed := w.visited(ctx, ids, all)
	for {
		r := w.round()
		r.kept, r.left = kept, left
		due = slices.DeleteFunc(due, func(rec inventory.Record) bool { return !w.ready(&rec) })
		for i := range due {
			r.due = append(r.due, &due[i])
		}
		switch {
		case len(due) == 0:
			return nil, failed
		case !until.IsZero() && w.clock.Now().After(until):
			return idsIn(due), failed
		}
		failed = errors.Join(failed, r.first(ctx))
		if ctx.Err() == nil {
			failed = errors.Join(failed, r.watch(ctx))
		}
		if len(r.wrote) == 0 && !r.moved || ctx.Err() != nil {
			return nil, failed // all that is left waits for something else
		}
		due = r.next(due)
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
	followers, err := w.concerned(ctx, ran, slices.Contains(ids, inventory.Shared))
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
	byID, err := w.rowsOf(ctx, idle)
	if len(byID) == 0 || err != nil {
		return nil, err
	}
	r := w.round()
	var changes []inventory.Change
	var all error
	for i := range idle {
		rec := idle[i]
		if rec.Exported != 0 && rec.Exported != rec.Desired {
			continue // what is deployed is not what it wants
		}
		outcome := w.outcomeOf(&rec, byID)
		if outcome == lifecycle.Pending || outcome == rec.Outcome {
			continue
		}
		c, err := r.advance(ctx, rec, lifecycle.Resources{Desired: rec.Desired, Outcome: outcome})
		if err != nil {
			all = errors.Join(all, r.postpone(&rec, err))
			continue
		}
		w.explained(&c, outcome, byID)
		changes = append(changes, c)
	}
	all = errors.Join(all, r.write(ctx, changes))
	return r.next(nil), all
}

// rowsOf returns the rows of the resources of instances.
func (w *Worker) rowsOf(
	ctx context.Context, of []inventory.Record,
) (map[resource.ID]*state.Row, error) {
	var ids []resource.ID
	for i := range of {
		some, err := w.resources(ctx, &of[i])
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
		ids = append(ids, idsOf(of[i].Follows)...)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return w.rowsByID(ctx, ids)
}

// rowsByID returns the rows of resources.
func (w *Worker) rowsByID(
	ctx context.Context, ids []resource.ID,
) (map[resource.ID]*state.Row, error) {
	rows, err := w.Engine.State.Rows(ctx, w.Env, distinct(ids))
	byID := make(map[resource.ID]*state.Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	return byID, err
}

// ready reports whether an instance has something that can be done now. What became of resources
// can always be looked at, but where it is certain that something is yet to be run, and a notice
// follows.
func (w *Worker) ready(rec *inventory.Record) bool {
	if _, later := w.later[rec.ID]; later {
		return false
	}
	if has(rec, inventory.TaskWatch) && !w.awaited[rec.ID] {
		return true
	}
	return len(rec.Tasks) > 0 && !rec.Due.After(w.now())
}

// next returns what a round has left of the records that it was for, and what it has written
// besides, in the order of the first. Whoever has changed one meanwhile sends a notice of it.
func (r *round) next(due []inventory.Record) []inventory.Record {
	var out []inventory.Record
	for i := range due {
		rec, wrote := r.wrote[due[i].ID]
		delete(r.wrote, due[i].ID)
		switch {
		case wrote:
			out = append(out, rec)
		case !r.lost[due[i].ID]:
			out = append(out, due[i])
		}
	}
	first := len(out)
	for _, rec := range r.wrote {
		out = append(out, rec)
	}
	slices.SortFunc(out[first:], func(a, b inventory.Record) int {
		return a.Created.Compare(b.Created)
	})
	return out
}

func idsIn(records []inventory.Record) []string {
	out := make([]string, len(records))
	for i := range records {
		out[i] = records[i].ID
	}
	return out
}

// elsewhere says that a model is not compiled here.
type elsewhere struct{ problems []diag.Problem }

// Error implements error.
func (e *elsewhere) Error() string { return e.problems[0].Message }

// elsewhereAgain is when it is looked again whether a model can be compiled here.
const elsewhereAgain = 5 * time.Minute

// leave leaves jobs to whoever can do them, and says at the instances who that is.
func (r *round) leave(ctx context.Context, jobs []job, problems []diag.Problem) error {
	var changes []inventory.Change
	for _, j := range jobs {
		rec := *j.rec
		rec.Problems, rec.Due = said(problems), r.now().Add(elsewhereAgain)
		r.left[rec.ID] = true
		c := inventory.Change{Record: rec}
		if string(j.rec.Problems) != string(rec.Problems) {
			explain(&c, problems)
		}
		changes = append(changes, c)
	}
	return r.write(ctx, changes)
}
