package fulfil

import (
	"context"
	"errors"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// round is the work on instances that were read at one time, grouped by the part that does it.
type round struct {
	agenda   *agenda
	results  *results
	validate *validator
	export   *exporter
	roll     *roller
	watch    *watcher
}

// round returns a round without instances. The rounds of one visit share their definitions, and the
// instances that were left.
func (w *Worker) round(defs *definitions, left map[string]bool) *round {
	a := &agenda{Config: &w.Config, left: left}
	out := &results{
		Config: &w.Config, agenda: a, defs: defs, memory: w.memory, following: w.following,
		wrote: map[string]inventory.Record{}, lost: map[string]bool{},
	}
	b := batches{defs: defs, results: out}
	c := &compiler{Config: &w.Config, models: w.models, defs: defs, given: w.memory.given}
	return &round{
		agenda: a, results: out,
		validate: &validator{Config: &w.Config, agenda: a, batches: b, compiler: c},
		export: &exporter{
			Config: &w.Config, turn: w.turn, agenda: a, batches: b, compiler: c,
			memory: w.memory, outcomes: w.outcomes,
		},
		roll: &roller{Config: &w.Config, agenda: a, batches: b, compiler: c},
		watch: &watcher{
			Config: &w.Config, agenda: a, results: out, outcomes: w.outcomes,
		},
	}
}

// agenda is the list of instances that a round works on.
type agenda struct {
	*Config
	due []*inventory.Record
	// left are the instances with postponed tasks. Until Due, only the outcomes of their resources
	// are checked.
	left map[string]bool
}

// job is a task of an instance in the current round.
type job struct {
	rec  *inventory.Record
	task inventory.Task
	ran  *inventory.Compile // its last compile in this round; nil: there was none
}

// jobs returns the tasks of a kind that can be done, one of each instance.
func (a *agenda) jobs(kind inventory.TaskKind) []job {
	var out []job
	for _, rec := range a.due {
		if kind != inventory.TaskWatch && a.left[rec.ID] && rec.Due.After(a.now()) {
			continue
		}
		for _, t := range rec.Tasks {
			if t.Kind == kind {
				out = append(out, job{rec: rec, task: t})
				break
			}
		}
	}
	return out
}

// any reports whether an instance has a task of a kind that can be done.
func (a *agenda) any(kind inventory.TaskKind) bool {
	for _, j := range a.jobs(kind) {
		if kind != inventory.TaskGone || !waits(j.rec) {
			return true
		}
	}
	return false
}

// done takes an instance off the agenda.
func (a *agenda) done(id string) {
	a.due = slices.DeleteFunc(a.due, func(rec *inventory.Record) bool { return rec.ID == id })
}

// waits reports whether a deleted instance still has tasks that must be done before TaskGone.
func waits(rec *inventory.Record) bool {
	return has(rec, inventory.TaskExport) || has(rec, inventory.TaskContinue)
}

// has reports whether an instance has a task of a kind.
func has(rec *inventory.Record, kind inventory.TaskKind) bool {
	for _, t := range rec.Tasks {
		if t.Kind == kind {
			return true
		}
	}
	return false
}

// first does the most urgent kind of task: exports of accepted orders before validations of new
// ones, and rollouts last. Exports come first because an order is validated against everything that
// was accepted before it.
func (r *round) first(ctx context.Context) error {
	switch {
	case r.agenda.any(inventory.TaskContinue) || r.agenda.any(inventory.TaskGone):
		return r.small(ctx)
	case r.agenda.any(inventory.TaskExport):
		return r.export.export(ctx)
	}
	if r.agenda.any(inventory.TaskValidate) {
		return r.validate.validate(ctx)
	}
	return r.roll.roll(ctx)
}

// small does the tasks that need no compile.
func (r *round) small(ctx context.Context) error {
	var changes []inventory.Change
	var all error
	for _, j := range r.agenda.jobs(inventory.TaskContinue) {
		c, err := r.results.advance(ctx, j.rec.Finish(j.task), lifecycle.Auto{})
		if problems, _ := diag.Of(err); len(problems) > 0 {
			c, err = r.results.stuck(j.rec, problems), nil
		}
		if err != nil {
			all = errors.Join(all, r.results.postpone(j.rec, err))
			continue
		}
		changes = append(changes, c)
	}
	for _, j := range r.agenda.jobs(inventory.TaskGone) {
		if waits(j.rec) {
			continue
		}
		changes = append(changes, inventory.Change{Record: j.rec.Finish(j.task)})
	}
	return errors.Join(all, r.results.write(ctx, changes))
}
