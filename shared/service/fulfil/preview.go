package fulfil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/std"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/preview"
)

// Previewer compiles previews of orders and models. It writes nothing and needs no turn, so it can
// run beside a worker. If Config has no Compile, it unpacks models into its own folder.
type Previewer struct {
	Config
	// Forgets means that stored passwords of models are not read. A preview then generates other
	// passwords.
	Forgets bool
}

// maxSteps is the number of steps of a lifecycle that a preview follows.
const maxSteps = 50

// session returns the worker of one preview, and a function that removes its folder.
func (p *Previewer) session(env string) (*Worker, func(), error) {
	c := p.Config
	c.Env, c.Preview = env, true
	dir, err := os.MkdirTemp("", "southbound-preview-")
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	kept := c.Passwords
	if kept == nil && !p.Forgets {
		kept = std.PasswordsIn(filepath.Join(c.Dir, env, dataDir))
	}
	c.Passwords, c.Dir = &readPasswords{Passwords: kept, made: map[string]string{}}, dir
	c.Alone = func(string) (func(), bool, error) { return func() {}, true, nil }
	return New(c), func() { _ = os.RemoveAll(dir) }, nil
}

// readPasswords reads stored passwords, and keeps new ones in memory only.
type readPasswords struct {
	std.Passwords
	mu   sync.Mutex
	made map[string]string
}

// Password implements std.Passwords.
func (r *readPasswords) Password(ctx context.Context, name string) (string, error) {
	if r.Passwords != nil {
		found, err := r.Passwords.Password(ctx, name)
		if err != nil || found != "" {
			return found, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[name], nil
}

// Make implements std.Passwords.
func (r *readPasswords) Make(_ context.Context, name, password string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made[name] == "" {
		r.made[name] = password
	}
	return r.made[name], nil
}

// Order returns the preview of an order from its change, which is not written.
func (p *Previewer) Order(
	ctx context.Context, env string, c inventory.Change,
) (preview.Outcome, error) {
	w, end, err := p.session(env)
	if err != nil {
		return preview.Outcome{}, err
	}
	defer end()
	o := &ordered{w.round(w.definitions(), map[string]bool{}), preview.Outcome{
		Record: c.Record, Path: []string{c.Record.State},
	}}
	for range maxSteps {
		more, err := o.step(ctx)
		if err != nil || !more {
			return o.out, err
		}
		if last := o.out.Path[len(o.out.Path)-1]; o.out.Record.State != last {
			o.out.Path = append(o.out.Path, o.out.Record.State)
		}
	}
	return o.out, nil
}

// ordered is the preview of one order.
type ordered struct {
	*round
	out preview.Outcome
}

// step does the next task; false: there is none.
func (o *ordered) step(ctx context.Context) (bool, error) {
	rec := &o.out.Record
	for _, kind := range []inventory.TaskKind{
		inventory.TaskContinue, inventory.TaskExport, inventory.TaskValidate,
	} {
		at := slices.IndexFunc(rec.Tasks, func(t inventory.Task) bool { return t.Kind == kind })
		if at < 0 {
			continue
		}
		t := rec.Tasks[at]
		switch kind {
		case inventory.TaskExport:
			return true, o.exports(ctx, t)
		case inventory.TaskValidate:
			return true, o.validates(ctx, t)
		default:
			return true, o.advance(ctx, t, lifecycle.Auto{})
		}
	}
	return false, nil
}

func (o *ordered) advance(ctx context.Context, t inventory.Task, e lifecycle.Event) error {
	c, err := o.results.advance(ctx, o.out.Record.Finish(t), e)
	if err == nil {
		o.out.Record = c.Record
	}
	return err
}

// compile compiles the model for a task, and applies the read-only attributes that the model sets.
func (o *ordered) compile(
	ctx context.Context, t inventory.Task, set lifecycle.Set, validating bool,
) (*compiled, error) {
	rec := &o.out.Record
	digest, err := o.export.defs.bundle(ctx, rec, set)
	if err != nil {
		return nil, err
	}
	for range 2 {
		c, err := o.export.compiler.compile(ctx, digest, []job{{rec: rec, task: t}}, validating)
		if err != nil {
			return c, err
		}
		told, err := o.results.tell(ctx, c, rec, set)
		if err != nil || !told || validating {
			return c, err
		}
	}
	return o.export.compiler.compile(ctx, digest, []job{{rec: rec, task: t}}, validating)
}

func (o *ordered) validates(ctx context.Context, t inventory.Task) error {
	rec, set := &o.out.Record, lifecycle.Set(t.Set)
	s, err := o.results.defs.rules(ctx, rec)
	if err != nil {
		return err
	}
	if set == lifecycle.Candidate && rec.Active != nil {
		err = inventory.Promotable(s, rec)
	}
	if err == nil {
		var c *compiled
		if c, err = o.compile(ctx, t, set, true); err == nil {
			if err = o.validate.fits(ctx, c); err != nil {
				err = c.placed(err)
			}
		}
	}
	failed, err := o.failed(ctx, err)
	if err != nil {
		return err
	}
	return o.advance(ctx, t, lifecycle.Validated{Version: t.Number, Failed: failed})
}

// failed notes the problems of a compile. It returns an error whose cause is outside of the order.
func (o *ordered) failed(ctx context.Context, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	if err := hindered(ctx, err); err != nil {
		return false, err
	}
	o.out.Problems = problemsOf(err)
	return true, nil
}

func (o *ordered) exports(ctx context.Context, t inventory.Task) error {
	rec := &o.out.Record
	x := deploy.Export{Model: &model.Model{}, Partial: true, Owner: true}
	var err error
	var c *compiled
	if !t.Present {
		x.DeleteSets = []string{rec.ID}
	} else if c, err = o.compile(ctx, t, deployed(rec), false); err == nil {
		x, err = requested(ctx, o.export.compiler, c, t)
	}
	var d deploy.DryRun
	if err == nil {
		d, err = o.export.Engine.Preview(ctx, o.export.Env, x, deploy.CompareOptions{})
	}
	if err != nil && c != nil {
		err = c.placed(o.export.compiler.taken(ctx, c, err))
	}
	failed, err := o.failed(ctx, err)
	if err != nil {
		return err
	}
	outcome := lifecycle.Deployed
	if failed {
		outcome = lifecycle.Failed
	} else {
		o.out.Planned = changesIn(d.Planned)
	}
	return o.advance(ctx, t, lifecycle.Resources{Desired: t.Number, Outcome: outcome})
}

// hindered returns an error whose cause is outside of the model and the order; nil for other
// errors.
func hindered(ctx context.Context, err error) error {
	var other *elsewhere
	if errors.As(err, &other) {
		why := other.problems[0]
		return fault.New(fault.Unsupported, "preview", "%s", why.Message).WithHint("%s", why.Hint)
	}
	if outside(ctx, err) {
		return err
	}
	return nil
}

// requested returns the export request for the result of a compile.
func requested(
	ctx context.Context, by *compiler, c *compiled, t inventory.Task,
) (deploy.Export, error) {
	m, err := by.deployable(ctx, c)
	if err != nil {
		return deploy.Export{}, err
	}
	x := deploy.Export{Model: m, Partial: true, Owner: true, KeepShared: t.Purge}
	sets := setsOf(m)
	for _, one := range c.members.all {
		if one.mine && attributes(one.rec, one.set) != nil && sets[one.rec.ID].ids == nil {
			x.DeleteSets = append(x.DeleteSets, one.rec.ID)
		}
	}
	slices.Sort(x.DeleteSets)
	return x, nil
}

// changesIn returns the steps of a plan that change something.
func changesIn(planned []deploy.PlannedChange) []deploy.PlannedChange {
	return slices.DeleteFunc(slices.Clone(planned), func(w deploy.PlannedChange) bool {
		return w.Action == "none" && !w.Failed && len(w.ReloadFor) == 0 && w.MovedFrom == ""
	})
}

// Model returns previews of instances with a model that is stored and not yet offered, in the order
// of ids.
func (p *Previewer) Model(
	ctx context.Context, env, bundle string, services []definition.Service, ids []string,
) ([]preview.Outcome, error) {
	w, end, err := p.session(env)
	if err != nil {
		return nil, err
	}
	defer end()
	v := &modelled{Worker: w, bundle: bundle, offers: map[keptKey]definition.Kept{}}
	v.defs = w.definitions()
	for i := range services {
		digest, _, err := services[i].Text()
		if err != nil {
			return nil, err
		}
		key := keptKey{services[i].Name, services[i].Version, digest}
		k := definition.Kept{Service: services[i], Digest: digest, Bundle: bundle}
		v.defs.kept[key], v.defs.known[key] = k, &k.Service
		key.digest = ""
		v.offers[key] = k
	}
	v.round = w.round(v.defs, map[string]bool{})
	return v.all(ctx, ids)
}

// modelled is the preview of a model.
type modelled struct {
	*Worker
	*round
	defs   *definitions
	bundle string
	offers map[keptKey]definition.Kept // by name and version
	out    []preview.Outcome
	jobs   []job
	at     map[string]int // the indexes of instances in out
}

func (v *modelled) all(ctx context.Context, ids []string) ([]preview.Outcome, error) {
	v.at = map[string]int{}
	for _, id := range ids {
		rec, err := v.Instances.Instance(ctx, v.Env, id)
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		v.at[id] = len(v.out)
		out, err := v.moved(ctx, rec)
		if err != nil {
			return nil, err
		}
		v.out = append(v.out, out)
	}
	for i := range v.out {
		if rec := &v.out[i].Record; has(rec, inventory.TaskExport) && !v.out[i].Leaving &&
			len(v.out[i].Problems) == 0 {
			v.jobs = append(v.jobs, job{rec: rec})
		}
	}
	return v.out, v.resources(ctx)
}

// moved returns the preview of an instance after its move.
func (v *modelled) moved(ctx context.Context, rec inventory.Record) (preview.Outcome, error) {
	out := preview.Outcome{Record: rec, Path: []string{rec.State}}
	has, err := v.defs.of(ctx, &rec, rec.Definition)
	if err != nil {
		return out, err
	}
	if out.Leaving = rec.Leaves(&has.Service); out.Leaving {
		return out, nil
	}
	k, ok := v.offers[keptKey{rec.Service, rec.ServiceVersion, ""}]
	if !ok {
		out.Problems = diag.Problems{{
			Message: fmt.Sprintf("the model no longer offers version %d of %s", rec.ServiceVersion,
				rec.Service),
			Hint: "delete the instance first, or keep the binding in the model",
		}}
		return out, nil
	}
	rec.Tasks = nil
	rec.Rolling = &inventory.Move{Goal: inventory.Goal{
		ServiceVersion: rec.ServiceVersion, Definition: k.Digest, Model: v.bundle,
	}}
	c, err := inventory.Moved(&k.Service, rec, nil, v.now())
	if err != nil {
		if out.Problems = problemsOf(err); outside(ctx, err) && fault.KindOf(err) != fault.Conflict {
			return out, err
		}
		return out, nil
	}
	out.Record = c.Record
	return out, nil
}

// resources fills in the changes of resources. It plans all instances together. If that fails, it
// plans each instance alone.
func (v *modelled) resources(ctx context.Context) error {
	if len(v.jobs) == 0 {
		return nil
	}
	err := v.planned(ctx, v.jobs)
	if err == nil {
		return nil
	}
	if err := hindered(ctx, err); err != nil {
		return err
	}
	for i := range v.jobs {
		err := v.planned(ctx, v.jobs[i:i+1])
		if err == nil {
			continue
		}
		if err := hindered(ctx, err); err != nil {
			return err
		}
		v.out[v.at[v.jobs[i].rec.ID]].Problems = problemsOf(err)
	}
	return nil
}

func (v *modelled) planned(ctx context.Context, jobs []job) error {
	by := v.export.compiler
	c, err := by.compile(ctx, v.bundle, jobs, false)
	if err != nil {
		return err
	}
	x, err := requested(ctx, by, c, inventory.Task{})
	if err != nil {
		return c.placed(err)
	}
	d, err := v.Engine.Preview(ctx, v.Env, x, deploy.CompareOptions{})
	if err != nil {
		return c.placed(by.taken(ctx, c, err))
	}
	owner := map[resource.ID]string{}
	for i := range x.Model.Resources {
		owner[x.Model.Resources[i].ID] = x.Model.Resources[i].Set
	}
	for _, j := range jobs {
		for _, id := range j.rec.Resources {
			if owner[resource.ID(id)] == "" {
				owner[resource.ID(id)] = j.rec.ID
			}
		}
	}
	for _, w := range changesIn(d.Planned) {
		if at, ok := v.at[owner[w.ID]]; ok {
			v.out[at].Planned = append(v.out[at].Planned, w)
		} else {
			v.out[v.at[jobs[0].rec.ID]].Planned = append(v.out[v.at[jobs[0].rec.ID]].Planned, w)
		}
	}
	return nil
}
