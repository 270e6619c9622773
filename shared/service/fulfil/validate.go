package fulfil

import (
	"context"
	"errors"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// validator validates orders, and records the results.
type validator struct {
	*Config
	batches
	agenda   *agenda
	compiler *compiler
}

// validate does the compiles that transfers wait for.
func (v *validator) validate(ctx context.Context) error {
	set := func(j job) lifecycle.Set { return lifecycle.Set(j.task.Set) }
	jobs, failed := v.allowed(ctx, v.agenda.jobs(inventory.TaskValidate))
	groups, err := v.byModel(ctx, jobs, set)
	if err = errors.Join(failed, err); len(groups) == 0 {
		return err
	}
	// The next rounds validate for other models, after the accepted orders are in the model.
	first := groups[0]
	together := func(jobs []job) error {
		c, err := v.compiler.compile(ctx, first.digest, jobs, true)
		if err != nil {
			return err
		}
		if err := v.fits(ctx, c); err != nil {
			return c.placed(err)
		}
		return v.validated(ctx, c, jobs)
	}
	return errors.Join(err, v.halves(ctx, first.jobs, together, func(j job, err error) error {
		return v.invalid(ctx, j, problemsOf(err))
	}))
}

// allowed returns the jobs whose candidates may become active. The other jobs fail immediately:
// their promotion would be rejected if an automatic transfer did it after the validation.
func (v *validator) allowed(ctx context.Context, jobs []job) ([]job, error) {
	var out []job
	var all error
	for _, j := range jobs {
		if lifecycle.Set(j.task.Set) != lifecycle.Candidate || j.rec.Active == nil {
			out = append(out, j)
			continue
		}
		k, err := v.defs.of(ctx, j.rec, j.rec.Definition)
		if err != nil {
			all = errors.Join(all, v.results.postpone(j.rec, err))
			continue
		}
		err = inventory.Promotable(&k.Service, j.rec)
		if problems, _ := diag.Of(err); len(problems) > 0 {
			all = errors.Join(all, v.invalid(ctx, j, problems))
			continue
		}
		out = append(out, j)
	}
	return out, all
}

// fits returns why the result of a compile could not be deployed beside the other resources.
func (v *validator) fits(ctx context.Context, c *compiled) error {
	m, err := v.compiler.deployable(ctx, c)
	if err != nil || len(m.Resources) == 0 {
		return err
	}
	err = v.Engine.Check(ctx, v.Env, deploy.Export{Model: m, Partial: true, Owner: true})
	return v.compiler.taken(ctx, c, err)
}

// validated records that jobs were validated, with the attributes that the model has set.
func (v *validator) validated(ctx context.Context, c *compiled, jobs []job) error {
	if err := v.results.suggest(ctx, c.services.Suggestions); err != nil {
		return err
	}
	var changes []inventory.Change
	for _, j := range jobs {
		rec := j.rec.Finish(j.task)
		rec.Problems = nil
		told, err := v.results.tell(ctx, c, &rec, lifecycle.Set(j.task.Set))
		if err != nil {
			return err
		}
		change, err := v.results.advance(ctx, rec, lifecycle.Validated{Version: j.task.Number})
		if err != nil {
			return err
		}
		if told {
			change.Under = c.members.under
		}
		j.describe(&change, nil)
		changes = append(changes, change)
	}
	return v.results.write(ctx, changes)
}

// invalid records that the validation of a job has failed.
func (v *validator) invalid(ctx context.Context, j job, problems []diag.Problem) error {
	rec := j.rec.Finish(j.task)
	rec.Problems = said(problems)
	c, err := v.results.advance(ctx, rec, lifecycle.Validated{Version: j.task.Number, Failed: true})
	if err != nil {
		return v.results.postpone(j.rec, err)
	}
	explain(&c, problems)
	j.describe(&c, problems)
	return v.results.write(ctx, []inventory.Change{c})
}
