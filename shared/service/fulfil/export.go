package fulfil

import (
	"context"
	"errors"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/source"
)

// export deploys what instances need now.
func (r *round) export(ctx context.Context) error {
	var with, purged, without []job
	for _, j := range r.jobs(inventory.TaskExport) {
		switch {
		case !j.task.Present:
			without = append(without, j)
		case j.task.Purge:
			purged = append(purged, j)
		default:
			with = append(with, j)
		}
	}
	all := r.remove(ctx, without)
	for _, some := range [][]job{purged, with} {
		groups, err := r.byModel(ctx, some, func(j job) lifecycle.Set { return deployed(j.rec) })
		all = errors.Join(all, err)
		for _, g := range groups {
			together := func(jobs []job) error { return r.exportAll(ctx, g.digest, jobs) }
			alone := func(j job, err error) error { return r.notExported(ctx, j, problemsOf(err)) }
			all = errors.Join(all, r.halves(ctx, g.jobs, together, alone))
		}
	}
	return all
}

// exportAll compiles and exports the resources of instances.
func (r *round) exportAll(ctx context.Context, digest string, jobs []job) error {
	c, err := r.compile(ctx, digest, jobs, false)
	if err != nil {
		return err
	}
	if err := r.suggest(ctx, c.services.Suggestions); err != nil {
		return err
	}
	again, err := r.learn(ctx, c, jobs)
	if again || err != nil {
		return err
	}
	m, err := r.deployable(ctx, c)
	if err != nil {
		return c.placed(err)
	}
	x := deploy.Export{
		Model: m, Partial: true, Turn: r.turn,
		KeepShared: jobs[0].task.Purge, // of all: whoever goes does not change what others have
		Origin:     state.Origin{Message: "orders of services"},
	}
	sets := setsOf(m, c.model)
	for _, one := range c.members.all {
		if one.mine && attributes(one.rec, one.set) != nil && sets[one.rec.ID].ids == nil {
			x.DeleteSets = append(x.DeleteSets, one.rec.ID)
		}
	}
	slices.Sort(x.DeleteSets)
	done, err := r.Engine.Export(ctx, r.Env, x)
	if err != nil {
		return c.placed(r.taken(ctx, c, err))
	}
	if len(jobs) == 1 && done.Changed > 0 && done.Changed == len(m.Resources) {
		r.awaited[jobs[0].rec.ID] = true
	}
	return r.exported(ctx, c, jobs, sets)
}

// exported writes that the resources of instances are in the model: what becomes of them is
// watched. Of those of the same owner it writes which they are, if these are others.
func (r *round) exported(
	ctx context.Context, c *compiled, jobs []job, sets map[string]became,
) error {
	var changes []inventory.Change
	for _, j := range jobs {
		rec := j.rec.Finish(j.task)
		rec.Problems, rec.Exported = nil, j.task.Number
		sets[rec.ID].note(&rec)
		rec.Follows = c.follows(rec.ID)
		rec.Tasks = append(slices.Clone(rec.Tasks), inventory.Task{
			Kind: inventory.TaskWatch, Number: j.task.Number,
		})
		if rec.Due = r.now(); r.Notified {
			rec.Due = rec.Due.Add(firstUnnotified)
		}
		changes = append(changes, inventory.Change{Record: rec})
	}
	for _, one := range c.members.all {
		if !one.mine {
			continue
		}
		id, rec := one.rec.ID, *one.rec
		sets[id].note(&rec)
		r.sets[id] = sets[id].ids
		is := func(j job) bool { return j.rec.ID == id }
		rec.Follows = c.follows(id)
		if slices.ContainsFunc(jobs, is) || slices.Equal(rec.Resources, one.rec.Resources) &&
			slices.Equal(rec.Follows, one.rec.Follows) {
			continue
		}
		changes = append(changes, inventory.Change{Record: rec})
	}
	return r.write(ctx, changes)
}

// learn writes what a model has said of instances. If that is something new, they are compiled once
// more, with it.
func (r *round) learn(ctx context.Context, c *compiled, jobs []job) (bool, error) {
	var changes []inventory.Change
	for _, one := range c.members.all {
		set := one.set
		if !one.mine || r.told[one.rec.ID] == one.rec.Desired && one.rec.Desired > 0 {
			continue
		}
		rec := *one.rec
		changed, err := r.tell(ctx, c, &rec, set)
		if err != nil {
			return false, err
		}
		if changed {
			changes = append(changes, inventory.Change{Record: rec, Under: c.members.under})
		}
	}
	if len(changes) == 0 {
		return false, nil
	}
	for _, j := range jobs {
		r.done(j.rec.ID)
	}
	err := r.write(ctx, changes)
	for i := range changes { // what was not written is said again
		if rec := &changes[i].Record; r.wrote[rec.ID].Rev > rec.Rev {
			r.told[rec.ID] = rec.Desired
		}
	}
	return true, err
}

// deployable returns what those who take part for themselves need: their resources, and what they
// share with others. Whose resources are gone for good needs nothing: others may have them by now.
func (r *round) deployable(ctx context.Context, c *compiled) (*model.Model, error) {
	built := *c.Compiled
	built.Resources.Resources = slices.DeleteFunc(slices.Clone(built.Resources.Resources),
		func(e source.Entry) bool {
			set, _ := e.Members["set"].(string)
			one := c.members.all[set]
			if set == "" {
				return !c.members.deploy()
			}
			return one == nil || !one.mine || one.gone
		})
	m, err := built.Deployable(ctx, source.Options{
		Types: r.Types, Agent: r.Agent, Check: r.Engine.Validate,
	})
	if err != nil {
		return nil, err
	}
	out := *m
	out.Where = func(i int, attribute string) diag.Pos {
		if attribute == "set" {
			attribute = "" // that the resource is in one is said in the module lsm
		}
		return m.At(i, attribute)
	}
	return &out, nil
}

// notExported writes that the resources of an instance could not be deployed.
func (r *round) notExported(ctx context.Context, j job, problems []diag.Problem) error {
	rec := j.rec.Finish(j.task)
	rec.Problems = said(problems)
	if rec.Exported == 0 {
		rec.Exported = inventory.NotExported
	}
	c, err := r.advance(ctx, rec, lifecycle.Resources{
		Desired: j.task.Number, Outcome: lifecycle.Failed,
	})
	if err != nil {
		return r.postpone(j.rec, err)
	}
	explain(&c, problems)
	return r.write(ctx, []inventory.Change{c})
}

// remove takes the resources of instances out of the model.
func (r *round) remove(ctx context.Context, jobs []job) error {
	if len(jobs) == 0 {
		return nil
	}
	together := func(jobs []job) error {
		x := deploy.Export{
			Model: &model.Model{}, Partial: true, Turn: r.turn,
			Origin: state.Origin{Message: "orders of services"},
		}
		for _, j := range jobs {
			x.DeleteSets = append(x.DeleteSets, j.rec.ID)
		}
		if _, err := r.Engine.Export(ctx, r.Env, x); err != nil {
			return err
		}
		if err := r.forget(ctx, jobs); err != nil {
			return err
		}
		var changes []inventory.Change
		for _, j := range jobs {
			rec := j.rec.Finish(j.task)
			rec.Problems, rec.Resources, rec.Places, rec.Follows = nil, nil, nil, nil
			delete(r.sets, rec.ID)
			changes = append(changes, inventory.Change{Record: rec})
		}
		return r.write(ctx, changes)
	}
	return r.halves(ctx, jobs, together, func(j job, err error) error {
		// Others require what it would leave: it stays until they do not.
		return r.write(ctx, []inventory.Change{r.stuck(j.rec, problemsOf(err))})
	})
}

// forget lets go of what was purged of sets that are not in the model any more. It is done before
// the tasks are, so that a crash leaves none of it.
func (r *round) forget(ctx context.Context, jobs []job) error {
	var ids []resource.ID
	unknown := map[string]bool{}
	for _, j := range jobs {
		of, ok := r.sets[j.rec.ID]
		switch {
		case ok:
			ids = append(ids, of...)
		case j.rec.Resources != nil:
			ids = append(ids, idsOf(j.rec.Resources)...)
		default:
			unknown[j.rec.ID] = true
		}
	}
	if len(unknown) > 0 {
		every := func(*state.Row) bool { return true }
		if err := r.rows(ctx, every, func(row *state.Row, set string) {
			if unknown[set] {
				ids = append(ids, row.ID)
			}
		}); err != nil {
			return err
		}
	}
	_, err := r.Engine.ForgetPurged(ctx, r.Env, ids)
	return err
}
