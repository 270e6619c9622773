// Package fulfil does what orders ask for: it compiles the model for instances, deploys what they
// become, and tells their lifecycles what came of it. docs/design/services.md describes it.
//
//	fulfil.go       the worker, its parts and its rounds
//	round.go        what a round has to do, and who does it
//	definitions.go  the definitions of instances
//	members.go      who takes part in a compile
//	models.go       the models that are compiled
//	passwords.go    the passwords that models make
//	allocate.go     the values that allocators of modules give
//	compile.go      one compile for several instances
//	batch.go        many jobs together, and the one that fails
//	validate.go     from an order to what is validated
//	rollout.go      to other definitions and models
//	export.go       from a compile to the resources of instances
//	preview.go      what orders and models would come to
//	watch.go        what becomes of resources that were exported
//	outcomes.go     what became of resources
//	why.go          which resources those are, and what is wrong with them
//	follow.go       resources that instances follow
//	write.go        what is written to instances
//	visit.go        instances that are named, and what follows
//	look.go         resources that nobody waits for
package fulfil

import (
	"context"
	"errors"
	"time"

	"southbound/shared/compile"
	"southbound/shared/deploy"
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
	// Preview: values that allocators of modules would give are unknown, and none is called.
	Preview bool
	// Passwords keeps the passwords that models have made; nil: a file in Dir does.
	Passwords std.Passwords
	// Limit is how long a compile may take; 0: as long as it does; negative: no time at all.
	Limit time.Duration
	// Limits bound what a model may take; the zero value: what is usual.
	Limits eval.Limits
	// Print gets what models print; it may be nil.
	Print func(string)
	// Failed is told what keeps the worker from its work; it may be nil.
	Failed func(error)
}

// Worker does the tasks of the instances of an environment. Each part of it knows one thing, and
// rounds bring them together (see round).
type Worker struct {
	Config
	turn      string // under which it exports; "" if it is alone
	memory    *memory
	models    *models
	rules     rulebook
	outcomes  *outcomes
	following *following
	looks     looks
}

// memory is what a worker remembers of instances from one round to the next.
type memory struct {
	sets map[string][]resource.ID // their resources, as far as they are known
	// awaited are those of which all resources were exported anew, so that they are run.
	awaited map[string]bool
	later   map[string]time.Time // when tasks are tried again that could not be done
	told    map[string]int64     // the desired state for which one was compiled again
	given   allocations
}

func (m *memory) clear() {
	clear(m.sets)
	clear(m.awaited)
	clear(m.later)
	clear(m.told)
	clear(m.given)
}

// New returns a worker.
func New(c Config) *Worker {
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	w := &Worker{Config: c, rules: rulebook{}, memory: &memory{
		sets: map[string][]resource.ID{}, awaited: map[string]bool{},
		later: map[string]time.Time{}, told: map[string]int64{}, given: allocations{},
	}}
	w.models = &models{Config: &w.Config, opened: map[string]bundle.Opened{}}
	w.outcomes = &outcomes{Config: &w.Config, memory: w.memory}
	w.following = &following{Config: &w.Config, outcomes: w.outcomes}
	if c.Alone == nil {
		w.turn = c.Engine.NewID()
	}
	return w
}

// definitions returns definitions of which none was read yet.
func (w *Worker) definitions() *definitions {
	return &definitions{Config: &w.Config, kept: map[keptKey]definition.Kept{}, known: w.rules}
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
	w.following.forget() // another one has been at work
	w.looks.forget()
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
				w.following.forget() // another one has been at work
				w.looks.forget()
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
			_ = w.Engine.Clock.Sleep(ctx, idle) // what cuts it short ends the loop
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
	r := w.round(w.definitions(), map[string]bool{})
	for i := range due {
		if until, ok := w.memory.later[due[i].ID]; !ok || !now.Before(until) {
			delete(w.memory.later, due[i].ID)
			r.agenda.due = append(r.agenda.due, &due[i])
		}
	}
	worked := len(r.agenda.due) > 0
	err = r.first(ctx)
	if w.Deploy == nil {
		return worked, errors.Join(err, r.watch.watch(ctx), w.look(ctx))
	}
	if r.agenda.any(inventory.TaskWatch) {
		err = errors.Join(err, w.Deploy(ctx))
	}
	return worked, errors.Join(err, r.watch.watch(ctx))
}

// now is the time as stores keep it.
func (c *Config) now() time.Time { return c.Engine.Clock.Now().UTC().Truncate(time.Microsecond) }
