package fulfil

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"southbound/shared/compile"
	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/internal/source"
	"southbound/shared/lang/lsm"
	"southbound/shared/patience"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/service/bundle"
	"southbound/shared/service/inventory"
)

// compiled is the result of a compile for jobs.
type compiled struct {
	*compile.Compiled
	members  *members
	services *lsm.Services
	model    bundle.Opened
	types    *schema.Registry // of the program, and of the lock file of the model
	read     secrets          // values that the model has read and its output must not show
}

// compiler compiles models for jobs. It does not write to stores.
type compiler struct {
	*Config
	models *models
	defs   *definitions
	given  allocations
}

// compile compiles a model for jobs, and records the compile in them. If it fails because files of
// the unpacked model were changed or removed, it repeats the compile. So no order fails for that.
func (c *compiler) compile(
	ctx context.Context, digest string, jobs []job, validating bool,
) (*compiled, error) {
	began := c.now()
	var out *compiled
	defer func() {
		ran := &inventory.Compile{DurationMS: c.now().Sub(began).Milliseconds(), Instances: len(jobs),
			Output: out.printed(len(jobs))}
		for i := range jobs {
			jobs[i].ran = ran
		}
	}()
	var failed error
	out, failed = c.compileOnce(ctx, digest, jobs, validating)
	var other *elsewhere
	if failed == nil || errors.As(failed, &other) || outside(ctx, failed) || c.Compile != nil {
		return out, failed
	}
	whole, err := c.models.intact(ctx, digest)
	switch {
	case err != nil:
		return nil, err
	case whole:
		return out, failed
	}
	out, failed = c.compileOnce(ctx, digest, jobs, validating)
	return out, failed
}

func (c *compiler) compileOnce(
	ctx context.Context, digest string, jobs []job, validating bool,
) (*compiled, error) {
	m, err := c.members(ctx, jobs, validating)
	if err != nil {
		return nil, err
	}
	out := &compiled{members: m, types: c.Types}
	if out.services, err = m.services(ctx); err != nil {
		return nil, err
	}
	defer func() { c.given.note(m, out.services.Outside) }()
	if c.Compile != nil {
		if out.Compiled, err = c.Compile(ctx, digest, out.services); err == nil {
			err = out.followsFew()
		}
		return out, err
	}
	if out.model, err = c.models.open(ctx, digest); err != nil {
		return nil, err
	}
	if c.Elsewhere != nil {
		if problems := c.Elsewhere(out.model); len(problems) > 0 {
			return nil, &elsewhere{problems}
		}
	}
	if out.types, err = c.models.typesOf(digest, out.model); err != nil {
		return nil, out.placed(err)
	}
	within, cancel := c.limited(ctx)
	defer cancel()
	passwords := c.passwords(out.model, &out.read)
	out.Compiled, err = compile.Model(within, compile.Options{
		Path: out.model.Main, Environment: c.Env, Types: out.types, Mapper: c.Mapper, Print: c.Print,
		VirtualEnv: out.model.Env, Beside: out.model.Beside, Services: out.services,
		Limits: c.Limits, Passwords: passwords, Read: out.read.add,
	})
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, &tooLong{diag.Problems{{
			Message: fmt.Sprintf("the compile took longer than %v", c.Limit),
			Hint:    "make the model smaller, or give the compiler more time and memory",
		}}}
	}
	if err != nil && passwords.lost != nil {
		return nil, passwords.lost
	}
	if err == nil {
		err = out.followsFew()
	}
	return out, out.placed(err)
}

// limited returns a context with the time limit of a compile.
func (c *compiler) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Limit != 0 {
		return patience.WithTimeout(ctx, c.Limit)
	}
	return context.WithCancel(ctx)
}

// placed returns problems with the file names that the authors of a model know.
func (c *compiled) placed(err error) error {
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return diag.Problems(shown(problems, c.model))
	}
	return err
}

// taken adds the name of the owning instance to problems with resources that another instance has.
func (c *compiler) taken(ctx context.Context, from *compiled, err error) error {
	problems, _ := diag.Of(err)
	out := slices.Clone(problems)
	for i := range out {
		id := resource.ID(out[i].Resource)
		rows, failed := c.Engine.State.Rows(ctx, c.Env, []resource.ID{id})
		if id == "" || failed != nil || len(rows) == 0 || rows[0].Orphaned {
			continue
		}
		res, failed := resource.Decode(rows[0].Body)
		if failed != nil || res.Set == "" || from.members.all[res.Set] != nil {
			continue
		}
		other, failed := c.Instances.Instance(ctx, c.Env, res.Set)
		if failed != nil {
			continue // the set of an export, or of an instance that cannot be read
		}
		out[i].Message += ": the instance " + named(&other) + " has it"
		out[i].Hint = "order something else, or delete that one"
	}
	if len(out) == 0 {
		return err
	}
	return out
}

// named returns the name of an instance for people: its identity, or else its id.
func named(rec *inventory.Record) string {
	if rec.Identity != "" {
		return rec.Service + "/" + rec.Identity
	}
	return rec.Service + " " + rec.ID
}

// deployable returns the resources that the targets of a compile and the instances of the same
// owner need, including shared ones. Instances whose resources were removed for good need none,
// because others may own these resources by now.
func (c *compiler) deployable(ctx context.Context, from *compiled) (*model.Model, error) {
	built := *from.Compiled
	built.Resources.Resources = slices.DeleteFunc(slices.Clone(built.Resources.Resources),
		func(e source.Entry) bool {
			set, _ := e.Members["set"].(string)
			one := from.members.all[set]
			if set == "" {
				return !from.members.deploy()
			}
			return one == nil || !one.mine || one.gone
		})
	m, err := built.Deployable(ctx, source.Options{
		Types: from.types, Agent: c.Agent, Check: c.Engine.Validate, Elsewhere: true,
	})
	if err != nil {
		return nil, err
	}
	out := *m
	out.Where = func(i int, attribute string) diag.Pos {
		if attribute == "set" {
			attribute = "" // the module lsm sets the attribute, so use the resource instead
		}
		at := m.At(i, attribute)
		at.File = from.model.Shown(at.File)
		return at
	}
	return &out, nil
}
