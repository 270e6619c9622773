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
)

// exporter exports the resources of instances, and records the results.
type exporter struct {
	*Config
	batches
	turn     string // see Worker.turn
	agenda   *agenda
	compiler *compiler
	outcomes *outcomes
	memory   *memory
}

// export deploys the resources that instances need now.
func (x *exporter) export(ctx context.Context) error {
	var with, purged, without []job
	for _, j := range x.agenda.jobs(inventory.TaskExport) {
		switch {
		case !j.task.Present:
			without = append(without, j)
		case j.task.Purge:
			purged = append(purged, j)
		default:
			with = append(with, j)
		}
	}
	all := x.remove(ctx, without)
	for _, some := range [][]job{purged, with} {
		groups, err := x.byModel(ctx, some, func(j job) lifecycle.Set { return deployed(j.rec) })
		all = errors.Join(all, err)
		for _, g := range groups {
			together := func(jobs []job) error { return x.exportAll(ctx, g.digest, jobs) }
			alone := func(j job, err error) error { return x.notExported(ctx, j, problemsOf(err)) }
			all = errors.Join(all, x.halves(ctx, g.jobs, together, alone))
		}
	}
	return all
}

// exportAll compiles and exports the resources of instances, and then updates their records. After
// a crash in between, their tasks remain. The next round repeats the export, which changes nothing,
// and updates the records.
func (x *exporter) exportAll(ctx context.Context, digest string, jobs []job) error {
	c, err := x.compiler.compile(ctx, digest, jobs, false)
	if err != nil {
		return err
	}
	if err := x.results.suggest(ctx, c.services.Suggestions); err != nil {
		return err
	}
	again, err := x.learn(ctx, c, jobs)
	if again || err != nil {
		return err
	}
	m, err := x.compiler.deployable(ctx, c)
	if err != nil {
		return c.placed(err)
	}
	request := deploy.Export{
		Model: m, Partial: true, Owner: true, Turn: x.turn,
		KeepShared: jobs[0].task.Purge, // of all jobs: purges keep shared resources
		Origin:     state.Origin{Message: "orders of services"},
	}
	sets := setsOf(m)
	for _, one := range c.members.all {
		if one.mine && attributes(one.rec, one.set) != nil && sets[one.rec.ID].ids == nil {
			request.DeleteSets = append(request.DeleteSets, one.rec.ID)
		}
	}
	slices.Sort(request.DeleteSets)
	for _, j := range jobs { // these instances have new requests
		request.Retry = append(request.Retry, sets[j.rec.ID].ids...)
		if j.task.Purge {
			request.Retry = append(request.Retry, c.FollowedPurged[j.rec.ID]...)
		}
	}
	done, err := x.Engine.Export(ctx, x.Env, request)
	if err != nil {
		return c.placed(x.compiler.taken(ctx, c, err))
	}
	if len(jobs) == 1 && done.Changed > 0 && done.Changed == len(m.Resources) {
		x.memory.awaited[jobs[0].rec.ID] = true
	}
	return x.exported(ctx, c, digest, jobs, sets)
}

// exported records that the resources of instances are in the model, and adds tasks that watch
// them. It updates the resources of other instances of the same owner if they have changed.
func (x *exporter) exported(
	ctx context.Context, c *compiled, digest string, jobs []job, sets map[string]became,
) error {
	var changes []inventory.Change
	var err error
	for _, j := range jobs {
		rec := j.rec.Finish(j.task)
		rec.Problems, rec.Exported = nil, j.task.Number
		if err := x.unpinned(ctx, &rec, digest); err != nil {
			return err
		}
		sets[rec.ID].note(&rec)
		if rec.Follows, err = x.follows(ctx, c, rec.ID); err != nil {
			return err
		}
		rec.Tasks = append(slices.Clone(rec.Tasks), inventory.Task{
			Kind: inventory.TaskWatch, Number: j.task.Number,
		})
		if rec.Due = x.now(); x.Notified {
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
		x.memory.sets[id] = sets[id].ids
		is := func(j job) bool { return j.rec.ID == id }
		if rec.Follows, err = x.follows(ctx, c, id); err != nil {
			return err
		}
		if rec.Model, err = x.modelOf(ctx, one, digest); err != nil {
			return err
		}
		if slices.ContainsFunc(jobs, is) || slices.Equal(rec.Resources, one.rec.Resources) &&
			slices.Equal(rec.Follows, one.rec.Follows) && rec.Model == one.rec.Model {
			continue
		}
		changes = append(changes, inventory.Change{Record: rec})
	}
	return x.results.write(ctx, changes)
}

// unpinned records the model of an export. An instance that was moved back to an earlier model
// keeps its pin, unless that model is offered again.
func (x *exporter) unpinned(ctx context.Context, rec *inventory.Record, digest string) error {
	if rec.Model = digest; rec.Pinned == "" {
		return nil
	}
	if rec.Rollout != nil && rec.Rollout.Back {
		k, err := x.defs.of(ctx, rec, "")
		if err != nil || k.Digest != rec.Definition || k.Bundle != rec.Pinned {
			return err
		}
	}
	rec.Pinned = ""
	return nil
}

// modelOf returns the model of an instance that was exported along with another instance of its
// owner. The result is "" if the instance itself would be exported with another model.
func (x *exporter) modelOf(ctx context.Context, one *member, digest string) (string, error) {
	own, err := x.defs.bundle(ctx, one.rec, deployed(one.rec))
	if own == digest {
		return digest, err
	}
	return "", err
}

// learn writes the attributes that a model has set. If any of them changed, the instances are
// compiled again.
func (x *exporter) learn(ctx context.Context, c *compiled, jobs []job) (bool, error) {
	var changes []inventory.Change
	for _, one := range c.members.all {
		set := one.set
		if !one.mine || x.memory.told[one.rec.ID] == one.rec.Desired && one.rec.Desired > 0 {
			continue
		}
		rec := *one.rec
		changed, err := x.results.tell(ctx, c, &rec, set)
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
		x.agenda.done(j.rec.ID)
	}
	err := x.results.write(ctx, changes)
	for i := range changes { // unwritten values are set again by the next compile
		if rec := &changes[i].Record; x.results.wrote[rec.ID].Rev > rec.Rev {
			x.memory.told[rec.ID] = rec.Desired
		}
	}
	return true, err
}

// notExported records that the resources of an instance could not be deployed.
func (x *exporter) notExported(ctx context.Context, j job, problems []diag.Problem) error {
	rec := j.rec.Finish(j.task)
	rec.Problems = said(problems)
	if rec.Exported == 0 {
		rec.Exported = inventory.NotExported
	}
	c, err := x.results.advance(ctx, rec, lifecycle.Resources{
		Desired: j.task.Number, Outcome: lifecycle.Failed,
	})
	if err != nil {
		return x.results.postpone(j.rec, err)
	}
	explain(&c, problems)
	j.describe(&c, problems)
	return x.results.write(ctx, []inventory.Change{c})
}

// remove takes the resources of instances out of the model.
func (x *exporter) remove(ctx context.Context, jobs []job) error {
	if len(jobs) == 0 {
		return nil
	}
	together := func(jobs []job) error {
		request := deploy.Export{
			Model: &model.Model{}, Partial: true, Owner: true, Turn: x.turn,
			Origin: state.Origin{Message: "orders of services"},
		}
		for _, j := range jobs {
			request.DeleteSets = append(request.DeleteSets, j.rec.ID)
		}
		if _, err := x.Engine.Export(ctx, x.Env, request); err != nil {
			return err
		}
		if err := x.forget(ctx, jobs); err != nil {
			return err
		}
		var changes []inventory.Change
		for _, j := range jobs {
			rec := j.rec.Finish(j.task)
			rec.Problems, rec.Resources, rec.Places, rec.Follows = nil, nil, nil, nil
			delete(x.memory.sets, rec.ID)
			changes = append(changes, inventory.Change{Record: rec})
		}
		return x.results.write(ctx, changes)
	}
	return x.halves(ctx, jobs, together, func(j job, err error) error {
		// Other resources require resources of this instance: it stays until they no longer do.
		return x.results.write(ctx, []inventory.Change{x.results.stuck(j.rec, problemsOf(err))})
	})
}

// forget deletes the rows of purged resources whose sets have left the model. It runs before the
// tasks are finished, so that a crash leaves no rows behind.
func (x *exporter) forget(ctx context.Context, jobs []job) error {
	var ids []resource.ID
	unknown := map[string]bool{}
	for _, j := range jobs {
		of, ok := x.memory.sets[j.rec.ID]
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
		if err := x.outcomes.scan(ctx, every, func(row *state.Row, set string) {
			if unknown[set] {
				ids = append(ids, row.ID)
			}
		}); err != nil {
			return err
		}
	}
	_, err := x.Engine.ForgetPurged(ctx, x.Env, ids)
	return err
}
