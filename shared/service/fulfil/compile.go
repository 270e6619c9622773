package fulfil

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/lang/lsm"
	"southbound/shared/resource"
	"southbound/shared/service/bundle"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// compiled is what a compile for jobs came to.
type compiled struct {
	*compile.Compiled
	members  *members
	services *lsm.Services
	model    bundle.Opened
}

// group is what is compiled with one model.
type group struct {
	digest string
	jobs   []job
}

// byModel groups jobs by the models that they are compiled with, what has waited longest first.
func (r *round) byModel(
	ctx context.Context, jobs []job, set func(job) lifecycle.Set,
) ([]group, error) {
	var out []group
	var all error
	for _, j := range jobs {
		k, err := r.definition(ctx, j.rec, made(j.rec, set(j)))
		if err != nil {
			all = errors.Join(all, r.postpone(j.rec, err))
			continue
		}
		at := slices.IndexFunc(out, func(g group) bool { return g.digest == k.Bundle })
		if at < 0 {
			at, out = len(out), append(out, group{digest: k.Bundle})
		}
		out[at].jobs = append(out[at].jobs, j)
	}
	return out, all
}

// compile compiles a model for jobs. No order is blamed for files of the model that somebody has
// changed or removed where it is unpacked: it is compiled once more then.
func (r *round) compile(
	ctx context.Context, digest string, jobs []job, validating bool,
) (*compiled, error) {
	out, failed := r.compileOnce(ctx, digest, jobs, validating)
	var other *elsewhere
	if failed == nil || errors.As(failed, &other) || outside(ctx, failed) || r.Compile != nil {
		return out, failed
	}
	whole, err := r.intact(ctx, digest)
	switch {
	case err != nil:
		return nil, err
	case whole:
		return out, failed
	}
	return r.compileOnce(ctx, digest, jobs, validating)
}

func (r *round) compileOnce(
	ctx context.Context, digest string, jobs []job, validating bool,
) (*compiled, error) {
	m, err := r.members(ctx, jobs, validating)
	if err != nil {
		return nil, err
	}
	out := &compiled{members: m}
	if out.services, err = m.services(ctx); err != nil {
		return nil, err
	}
	if r.Compile != nil {
		if out.Compiled, err = r.Compile(ctx, digest, out.services); err == nil {
			err = out.followsFew()
		}
		return out, err
	}
	if out.model, err = r.model(ctx, digest); err != nil {
		return nil, err
	}
	if r.Elsewhere != nil {
		if problems := r.Elsewhere(out.model); len(problems) > 0 {
			return nil, &elsewhere{problems}
		}
	}
	within, cancel := r.limited(ctx)
	defer cancel()
	passwords, lost := r.passwords(out.model)
	out.Compiled, err = compile.Model(within, compile.Options{
		Path: out.model.Main, Environment: r.Env, Types: r.Types, Mapper: r.Mapper, Print: r.Print,
		VirtualEnv: out.model.Env, Beside: out.model.Beside, Services: out.services,
		Limits: r.Limits, Passwords: passwords,
	})
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, &tooLong{diag.Problems{{
			Message: fmt.Sprintf("the compile took longer than %v", r.Limit),
			Hint:    "a smaller model, or more time and memory for whoever compiles it",
		}}}
	}
	if err != nil && *lost != nil {
		return nil, *lost
	}
	if err == nil {
		err = out.followsFew()
	}
	return out, out.placed(err)
}

// tooLong says that a compile took longer than it may.
type tooLong struct{ problems diag.Problems }

// Error implements error.
func (e *tooLong) Error() string { return e.problems.Error() }

// Unwrap returns the problems.
func (e *tooLong) Unwrap() error { return e.problems }

// limited bounds how long a compile may take.
func (w *Worker) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.Limit > 0 {
		return context.WithTimeout(ctx, w.Limit)
	}
	return context.WithCancel(ctx)
}

// placed returns problems with places as the authors of the model know them.
func (c *compiled) placed(err error) error {
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return diag.Problems(shown(problems, c.model))
	}
	return err
}

// halves does something for jobs together. If that fails because of one of them, it does it for the
// first half, and so on, so that one that is wrong harms no other, and for the first one at once if
// it takes too long; alone gets the job that is wrong,
// and why. What comes after a half waits for the next round.
func (r *round) halves(
	ctx context.Context, jobs []job, together func([]job) error, alone func(job, error) error,
) error {
	var other *elsewhere
	var late *tooLong
	for {
		err := together(jobs)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &other):
			return r.leave(ctx, jobs, other.problems)
		case outside(ctx, err):
			for _, j := range jobs {
				_ = r.postpone(j.rec, nil)
			}
			return err
		case len(jobs) == 1:
			return alone(jobs[0], err)
		case errors.As(err, &late):
			jobs = jobs[:1] // for each half it would take as long again
		default:
			jobs = jobs[:len(jobs)/2]
		}
	}
}

// validate does the compiles that transfers wait for.
func (r *round) validate(ctx context.Context) error {
	set := func(j job) lifecycle.Set { return lifecycle.Set(j.task.Set) }
	jobs, failed := r.allowed(ctx, r.jobs(inventory.TaskValidate))
	groups, err := r.byModel(ctx, jobs, set)
	if err = errors.Join(failed, err); len(groups) == 0 {
		return err
	}
	// Other models have their turn when what is accepted now is in the model.
	first := groups[0]
	together := func(jobs []job) error {
		c, err := r.compile(ctx, first.digest, jobs, true)
		if err != nil {
			return err
		}
		if err := r.fits(ctx, c); err != nil {
			return c.placed(err)
		}
		return r.validated(ctx, c, jobs)
	}
	return errors.Join(err, r.halves(ctx, first.jobs, together, func(j job, err error) error {
		return r.invalid(ctx, j, problemsOf(err))
	}))
}

// allowed returns the jobs whose candidates may become active. The others fail at once: a promotion
// that modifiers forbid leads nowhere if it comes by itself after the validation.
func (r *round) allowed(ctx context.Context, jobs []job) ([]job, error) {
	var out []job
	var all error
	for _, j := range jobs {
		if lifecycle.Set(j.task.Set) != lifecycle.Candidate || j.rec.Active == nil {
			out = append(out, j)
			continue
		}
		k, err := r.definition(ctx, j.rec, j.rec.Definition)
		if err != nil {
			all = errors.Join(all, r.postpone(j.rec, err))
			continue
		}
		err = inventory.Promotable(&k.Service, j.rec)
		if problems, _ := diag.Of(err); len(problems) > 0 {
			all = errors.Join(all, r.invalid(ctx, j, problems))
			continue
		}
		out = append(out, j)
	}
	return out, all
}

// fits says why what a compile came to could not be deployed beside all that is.
func (r *round) fits(ctx context.Context, c *compiled) error {
	m, err := r.deployable(ctx, c)
	if err != nil || len(m.Resources) == 0 {
		return err
	}
	err = r.Engine.Check(ctx, r.Env, deploy.Export{Model: m, Partial: true})
	return r.taken(ctx, c, err)
}

// taken says of problems with resources that another instance has which one that is.
func (r *round) taken(ctx context.Context, c *compiled, err error) error {
	problems, _ := diag.Of(err)
	out := slices.Clone(problems)
	for i := range out {
		id := resource.ID(out[i].Resource)
		rows, failed := r.Engine.State.Rows(ctx, r.Env, []resource.ID{id})
		if id == "" || failed != nil || len(rows) == 0 || rows[0].Orphaned {
			continue
		}
		res, failed := resource.Decode(rows[0].Body)
		if failed != nil || res.Set == "" || c.members.all[res.Set] != nil {
			continue
		}
		out[i].Hint = "the instance " + res.Set + " has it: order something else, or delete that one"
	}
	if len(out) == 0 {
		return err
	}
	return out
}

// validated writes that jobs were validated, with what the model has said of the instances.
func (r *round) validated(ctx context.Context, c *compiled, jobs []job) error {
	if err := r.suggest(ctx, c.services.Suggestions); err != nil {
		return err
	}
	var changes []inventory.Change
	for _, j := range jobs {
		rec := j.rec.Finish(j.task)
		rec.Problems = nil
		told, err := r.tell(ctx, c, &rec, lifecycle.Set(j.task.Set))
		if err != nil {
			return err
		}
		change, err := r.advance(ctx, rec, lifecycle.Validated{Version: j.task.Number})
		if err != nil {
			return err
		}
		if told {
			change.Under = c.members.under
		}
		changes = append(changes, change)
	}
	return r.write(ctx, changes)
}

// invalid writes that the compile of a job has failed.
func (r *round) invalid(ctx context.Context, j job, problems []diag.Problem) error {
	rec := j.rec.Finish(j.task)
	rec.Problems = said(problems)
	c, err := r.advance(ctx, rec, lifecycle.Validated{Version: j.task.Number, Failed: true})
	if err != nil {
		return r.postpone(j.rec, err)
	}
	explain(&c, problems)
	return r.write(ctx, []inventory.Change{c})
}

// tell stores in a set of a record what the model has said of its read-only attributes, and reports
// whether that is something else than was there.
func (r *round) tell(
	ctx context.Context, c *compiled, rec *inventory.Record, set lifecycle.Set,
) (bool, error) {
	was := attributes(rec, set)
	if was == nil {
		return false, nil
	}
	is := was
	for _, u := range c.services.Updates {
		if u.Instance != rec.ID {
			continue
		}
		k, err := r.definition(ctx, rec, made(rec, set))
		if err == nil {
			is, err = inventory.Told(&k.Service, is, u.Path, u.Value)
		}
		if err != nil {
			return false, err
		}
	}
	if same(was, is) {
		return false, nil
	}
	switch set {
	case lifecycle.Candidate:
		rec.Candidate = is
	case lifecycle.Active:
		rec.Active = is
	case lifecycle.Rollback:
		rec.Rollback = is
	case lifecycle.NoSet:
	}
	return true, nil
}

func same(a, b map[string]any) bool {
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && bytes.Equal(x, y)
}

// suggest stores the values that a model suggests, as parameters: a list in JSON.
func (r *round) suggest(ctx context.Context, all []lsm.Suggestion) error {
	var set []state.Parameter
	for _, s := range all {
		text, err := json.Marshal(s.Values)
		if err != nil {
			return diag.Problems{{Message: "the suggested values of " + s.Parameter + ": " + err.Error()}}
		}
		set = append(set, state.Parameter{Name: s.Parameter, Value: string(text), Source: "model"})
	}
	if len(set) == 0 {
		return nil
	}
	keys := make([]state.ParameterKey, len(set))
	for i := range set {
		keys[i].Name = set[i].Name
	}
	have, err := r.Engine.State.Parameters(ctx, r.Env, state.ParameterQuery{Keys: keys})
	if err != nil {
		return err
	}
	for _, p := range have {
		set = slices.DeleteFunc(set, func(o state.Parameter) bool {
			return o.Name == p.Name && o.Value == p.Value
		})
	}
	if len(set) == 0 {
		return nil
	}
	return r.Engine.SetParameters(ctx, r.Env, set...)
}
