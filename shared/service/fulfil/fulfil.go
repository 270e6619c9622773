// Package fulfil does what orders ask for: it compiles the model for instances, deploys what they
// become, and tells their lifecycles what came of it. docs/design/services.md describes it.
//
//	fulfil.go   the worker, and its rounds
//	write.go    what is written to instances
//	members.go  who takes part in a compile
//	models.go   the models that are compiled
//	compile.go  one compile for several instances, and its failures
//	export.go   from a compile to the resources of instances
//	watch.go    what became of resources
//	why.go      which resources those are, and what is wrong with them
//	visit.go    instances that are named, and what follows
package fulfil

import (
	"context"
	"errors"
	"time"

	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/std"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/service/bundle"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Config is what a worker is made of.
//
// Large: it is what the homes differ in, all of it optional but the first fields; each sets a few.
type Config struct {
	Env         string
	Instances   inventory.Store
	Definitions definition.Store
	Engine      *deploy.Engine
	Types       *schema.Registry
	// Mapper makes resources of entities of models; it may be nil.
	Mapper *entity.Mapper
	// Agent checks the options of an agent; nil: nothing does.
	Agent func(resource.Agent) []diag.Problem
	// Dir is where models are unpacked.
	Dir string
	// Room is how many bytes the models of all environments may take in Dir, where one process at a
	// time works: those that were not used for longest are removed for others. 0: any number.
	Room int64
	// Compile compiles the model of a digest for instances; nil: it is unpacked and compiled here.
	Compile func(ctx context.Context, digest string, s *lsm.Services) (*compile.Compiled, error)
	// Alone makes this the only worker of the environment; see local.Home. nil: others may be at
	// work without knowing, and whoever began last is the one that exports.
	Alone func(env string) (release func(), ok bool, err error)
	// Deploy deploys what is scheduled, and returns when nothing is left; nil: somebody else does.
	Deploy func(ctx context.Context) error
	// Notified says that Visit is called for instances of which resources were run, so that nobody
	// has to look again and again what became of them.
	Notified bool
	// Again is how often a Visit of all looks for what a notice was lost of: instances that wait
	// for nothing, and of which something has become since. 0: never.
	Again time.Duration
	// Followers, when not nil, says what instances follow to a Visit; nil: only a look at all
	// resources finds those who follow what is not their own.
	Followers inventory.Followers
	// Elsewhere, when not nil, says why a model is not compiled here; what is to be done with it is
	// left for whoever can.
	Elsewhere func(bundle.Opened) []diag.Problem
	// Passwords keeps the passwords that models have made; nil: a file in Dir does.
	Passwords std.Passwords
	// Limit is how long a compile may take; 0: as long as it does.
	Limit time.Duration
	// Limits bound what a model may take; the zero value: what is usual.
	Limits eval.Limits
	// Print gets what models print; it may be nil.
	Print func(string)
	// Failed is told what keeps the worker from its work; it may be nil.
	Failed func(error)
}

// Worker does the tasks of the instances of an environment.
type Worker struct {
	Config
	clock state.Clock
	turn  string                   // under which it exports; "" if it is alone
	sets  map[string][]resource.ID // the resources of instances, as far as they are known
	// awaited are instances of which all resources were exported anew, so that they are run.
	awaited map[string]bool
	later   map[string]time.Time // when tasks are tried again that could not be done
	told    map[string]int64     // the desired state for which an instance was compiled again
	counts  map[state.Status]int // at the last look at all resources
	looked  time.Time
	// lookedAt is when the resources of all instances were looked at last.
	lookedAt time.Time
	// following are the resources that instances follow, by the ids of the instances; nil: that is
	// not known.
	following map[string]inventory.Following
	models    map[string]bundle.Opened // that are unpacked, by digest
	// byKey are definitions that were read, of which the rules never change.
	byKey map[keptKey]*definition.Service
}

// New returns a worker.
func New(c Config) *Worker {
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	w := &Worker{
		Config: c, clock: c.Engine.Clock, sets: map[string][]resource.ID{},
		later: map[string]time.Time{}, told: map[string]int64{}, awaited: map[string]bool{},
		models: map[string]bundle.Opened{}, byKey: map[keptKey]*definition.Service{},
	}
	if c.Alone == nil {
		w.turn = c.Engine.NewID()
	}
	return w
}

// begin has what another worker has read before count for nothing: it exports nothing of it any
// more. What is to be done is read afterwards.
func (w *Worker) begin(ctx context.Context) error {
	if w.turn == "" {
		return nil
	}
	e, err := w.Engine.State.Env(ctx, w.Env)
	if err != nil || e.Turn == w.turn {
		return err
	}
	w.following = nil // another one has been at work
	return w.Engine.TakeTurn(ctx, w.Env, w.turn)
}

const (
	// idle is how long to wait for orders, and for another worker to end.
	idle = 100 * time.Millisecond
	// maxDue is how many instances are worked on in a round.
	maxDue = 200
	// retryAfter is when a task is tried again that something else has kept from being done.
	retryAfter = 5 * time.Second
)

// Run works on orders until a condition holds, which it asks before each round; nil: until ctx
// ends.
// While another worker is at work, it waits. Faults of infrastructure are told to Failed, and what
// they have kept from being done is tried again.
func (w *Worker) Run(ctx context.Context, until func(context.Context) (bool, error)) error {
	release := func() {}
	defer func() { release() }()
	alone := w.Alone == nil
	for {
		if until != nil {
			if done, err := until(ctx); done || err != nil {
				return err
			}
		}
		if !alone {
			free, ok, err := w.Alone(w.Env)
			if err != nil {
				return err
			}
			if alone = ok; ok {
				w.following = nil // another one has been at work
				release = free
			}
		}
		worked := false
		if alone {
			var err error
			if worked, err = w.Round(ctx); err != nil && ctx.Err() == nil {
				w.Failed(err)
			}
		}
		if !worked {
			_ = w.clock.Sleep(ctx, idle) // what cuts it short ends the loop
		}
		if ctx.Err() != nil {
			return fault.Wrap(fault.Canceled, "work on orders", context.Cause(ctx))
		}
	}
}

// Round does the tasks that are due, once, and reports whether there were any. Of several workers
// in one environment, the one that has begun a round last exports.
func (w *Worker) Round(ctx context.Context) (bool, error) {
	if err := w.begin(ctx); err != nil {
		return false, err
	}
	now := w.now()
	due, err := w.Instances.Due(ctx, w.Env, now, maxDue)
	if err != nil {
		return false, err
	}
	r := w.round()
	for i := range due {
		if until, ok := w.later[due[i].ID]; !ok || !now.Before(until) {
			delete(w.later, due[i].ID)
			r.due = append(r.due, &due[i])
		}
	}
	worked := len(r.due) > 0
	err = r.first(ctx)
	if w.Deploy == nil {
		return worked, errors.Join(err, r.watch(ctx), w.look(ctx))
	}
	if r.any(inventory.TaskWatch) {
		err = errors.Join(err, w.Deploy(ctx))
	}
	return worked, errors.Join(err, r.watch(ctx))
}

// first does what is first to be done: what is accepted, and then what is asked for, as an order is
// validated against all that was accepted before it.
func (r *round) first(ctx context.Context) error {
	switch {
	case r.any(inventory.TaskContinue) || r.any(inventory.TaskGone):
		return r.small(ctx)
	case r.any(inventory.TaskExport):
		return r.export(ctx)
	}
	return r.validate(ctx)
}

// now is the time as stores keep it.
func (w *Worker) now() time.Time { return w.clock.Now().UTC().Truncate(time.Microsecond) }

// round is the work on instances that were read at one time.
type round struct {
	*Worker
	due  []*inventory.Record
	kept map[keptKey]definition.Kept
	// wrote are the records that were written, and lost those that somebody else has changed.
	wrote map[string]inventory.Record
	lost  map[string]bool
	// moved says that others have chosen values meanwhile: what was to be written is compiled
	// again.
	moved bool
	// left are those of which only the resources can be looked at now: the rest waits until Due.
	left map[string]bool
}

func (w *Worker) round() *round {
	return &round{
		Worker: w, kept: map[keptKey]definition.Kept{}, wrote: map[string]inventory.Record{},
		lost: map[string]bool{}, left: map[string]bool{},
	}
}

// job is a task of an instance that is worked on.
type job struct {
	rec  *inventory.Record
	task inventory.Task
}

// jobs returns the tasks of a kind, one of each instance that fits.
func (r *round) jobs(kind inventory.TaskKind) []job {
	var out []job
	for _, rec := range r.due {
		if kind != inventory.TaskWatch && r.left[rec.ID] && rec.Due.After(r.now()) {
			continue
		}
		for _, t := range rec.Tasks {
			if t.Kind == kind {
				out = append(out, job{rec, t})
				break
			}
		}
	}
	return out
}

// any reports whether an instance has a task of a kind that can be done.
func (r *round) any(kind inventory.TaskKind) bool {
	for _, j := range r.jobs(kind) {
		if kind != inventory.TaskGone || !waits(j.rec) {
			return true
		}
	}
	return false
}

// waits reports whether an instance that is gone has still something to let go of.
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
