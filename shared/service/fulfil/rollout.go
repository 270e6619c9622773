package fulfil

import (
	"context"
	"errors"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// roller moves instances to the definitions and models that rollouts request.
type roller struct {
	*Config
	batches
	agenda   *agenda
	compiler *compiler
}

// moving is a prepared move: the job, and the instance after the move.
type moving struct {
	job
	change inventory.Change
}

// roll moves the instances of the first model that rollouts request.
func (r *roller) roll(ctx context.Context) error {
	var groups []group
	var all error
	moves := map[string]*moving{}
	for _, j := range r.agenda.jobs(inventory.TaskRollout) {
		if busy(j.rec) {
			continue
		}
		m, err := r.prepared(ctx, j)
		if problems, _ := diag.Of(err); len(problems) > 0 {
			all = errors.Join(all, r.refused(ctx, j, problems))
			continue
		}
		if err != nil {
			all = errors.Join(all, r.failed(ctx, j, err))
			continue
		}
		if m == nil {
			all = errors.Join(all, r.write(ctx, inventory.Unasked(*j.rec)))
			continue
		}
		moves[j.rec.ID] = m
		digest := j.rec.Rolling.Model
		at := slices.IndexFunc(groups, func(g group) bool { return g.digest == digest })
		if at < 0 {
			at, groups = len(groups), append(groups, group{digest: digest})
		}
		groups[at].jobs = append(groups[at].jobs, j)
	}
	if len(groups) == 0 {
		return all
	}
	first := groups[0]
	together := func(jobs []job) error { return r.move(ctx, first.digest, jobs, moves) }
	return errors.Join(all, r.halves(ctx, first.jobs, together, func(j job, err error) error {
		return r.refused(ctx, j, problemsOf(err))
	}))
}

// busy reports whether an instance has tasks that precede a move.
func busy(rec *inventory.Record) bool {
	return rec.Validating != "" || slices.ContainsFunc(rec.Tasks, func(t inventory.Task) bool {
		return t.Kind != inventory.TaskRollout && t.Kind != inventory.TaskWatch
	})
}

// prepared returns the move of an instance; nil: there is nothing left to move.
func (r *roller) prepared(ctx context.Context, j job) (*moving, error) {
	now, err := r.defs.of(ctx, j.rec, j.rec.Definition)
	if err != nil {
		return nil, err
	}
	if j.rec.Rolling == nil || j.rec.Leaves(&now.Service) {
		return nil, nil
	}
	goal := *j.rec
	goal.ServiceVersion = j.rec.Rolling.ServiceVersion
	next, err := r.defs.of(ctx, &goal, j.rec.Rolling.Definition)
	if err != nil {
		return nil, err
	}
	before, err := r.before(ctx, j.rec)
	if err != nil {
		return nil, err
	}
	c, err := inventory.Moved(&next.Service, *j.rec, before, r.now())
	return &moving{j, c}, err
}

// before returns an instance as it was before its last move, if the rollout returns it there.
func (r *roller) before(ctx context.Context, rec *inventory.Record) (*inventory.Record, error) {
	if !rec.Rolling.Back || rec.Rollout == nil {
		return nil, nil
	}
	return inventory.Before(ctx, r.Instances, r.Env, rec)
}

// move compiles instances in their new form, and records that they have moved. The next round
// exports their resources.
func (r *roller) move(
	ctx context.Context, digest string, jobs []job, moves map[string]*moving,
) error {
	var deployed []job
	var changes []inventory.Change
	for _, j := range jobs {
		m := moves[j.rec.ID]
		changes = append(changes, m.change)
		if has(&m.change.Record, inventory.TaskExport) {
			deployed = append(deployed, job{rec: &m.change.Record})
		}
	}
	if len(deployed) > 0 {
		c, err := r.compiler.compile(ctx, digest, deployed, false)
		if err != nil {
			return err
		}
		if err := r.fits(ctx, c); err != nil {
			return c.placed(err)
		}
	}
	return r.results.write(ctx, changes)
}

// fits returns why the result of a compile could not be deployed beside the other resources.
func (r *roller) fits(ctx context.Context, c *compiled) error {
	m, err := r.compiler.deployable(ctx, c)
	if err != nil {
		return err
	}
	err = r.Engine.Check(ctx, r.Env, deploy.Export{Model: m, Partial: true, Owner: true})
	return r.compiler.taken(ctx, c, err)
}

// refused records why an instance was not moved. The instance stays as it is.
func (r *roller) refused(ctx context.Context, j job, problems []diag.Problem) error {
	c := inventory.Unasked(*j.rec)
	c.Record.Problems = said(problems)
	c.Record.Updated = r.now()
	c.Events = []inventory.Event{{
		At: c.Record.Updated, Version: c.Record.Version, Kind: inventory.KindRollout, Error: true,
	}}
	explain(&c, problems)
	return r.write(ctx, c)
}

// failed rejects a move for an error of the instance. For any other error it postpones the move.
func (r *roller) failed(ctx context.Context, j job, err error) error {
	if outside(ctx, err) && fault.KindOf(err) != fault.Conflict {
		return r.results.postpone(j.rec, err)
	}
	return r.refused(ctx, j, problemsOf(err))
}

func (r *roller) write(ctx context.Context, c inventory.Change) error {
	return r.results.write(ctx, []inventory.Change{c})
}

// bundle returns the bundle that compiles a set of an instance. A pin applies to the sets that were
// made for the definition of the instance.
func (d *definitions) bundle(
	ctx context.Context, rec *inventory.Record, set lifecycle.Set,
) (string, error) {
	k, err := d.of(ctx, rec, made(rec, set))
	if err != nil || rec.Pinned == "" || made(rec, set) != rec.Definition {
		return k.Bundle, err
	}
	if d.models == nil {
		if d.models, err = d.Definitions.Models(ctx, d.Env); err != nil {
			return "", err
		}
	}
	if slices.Contains(d.models, rec.Pinned) {
		return rec.Pinned, nil
	}
	return k.Bundle, nil
}
