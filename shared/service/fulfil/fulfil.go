// Package fulfil carries out orders. It compiles the model for instances, deploys their resources,
// and reports the outcomes to their lifecycles. docs/design/services.md describes it.
//
//	fulfil.go       the worker, its parts and its rounds
//	round.go        the tasks of a round, and the parts that do them
//	definitions.go  the definitions of instances
//	members.go      the instances that take part in a compile
//	models.go       the unpacked models
//	passwords.go    the passwords that models generate
//	allocate.go     the values of allocators of modules
//	compile.go      one compile for several instances
//	batch.go        jobs in batches, and the job that fails
//	validate.go     validation of orders
//	rollout.go      moves to other definitions and models
//	export.go       from a compile to the resources of instances
//	preview.go      previews of orders and models
//	watch.go        the progress of exported resources
//	outcomes.go     the outcomes of resources
//	why.go          the resources of an instance, and their problems
//	follow.go       resources that instances follow
//	write.go        writes to instances
//	visit.go        visits to named instances
//	look.go         resources that no task watches
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

// Config holds the parts and options of a worker.
//
// Large: the homes differ in these fields. Only the first ones are required, and each home sets a
// few of the others.
type Config struct {
	Env         string
	Instances   inventory.Store
	Definitions definition.Store
	Engine      *deploy.Engine
	Types       *schema.Registry // without those of lock files: each model has its own
	// Mapper turns entities of models into resources; it may be nil.
	Mapper *entity.Mapper
	// Agent checks the options of an agent; nil: they are not checked.
	Agent func(resource.Agent) []diag.Problem
	// Dir is the folder of the unpacked models.
	Dir string
	// Room is the size in bytes that the models of all environments may take in Dir. The least
	// recently used models are removed first. It requires that only one process works at a time. 0:
	// no limit.
	Room int64
	// Compile compiles the model with a digest for instances; nil: the worker unpacks the model and
	// compiles it.
	Compile func(ctx context.Context, digest string, s *lsm.Services) (*compile.Compiled, error)
	// Alone makes this worker the only one of the environment; see local.Home. nil: other workers
	// may run concurrently. Only the worker that began last may then export.
	Alone func(env string) (release func(), ok bool, err error)
	// Deploy deploys the scheduled resources, and returns when none is left; nil: another process
	// deploys them.
	Deploy func(ctx context.Context) error
	// Notified means that Visit is called for instances whose resources were run. The worker then
	// polls their outcomes only rarely.
	Notified bool
	// Again is the interval at which a Visit of all instances looks for lost notices. It covers
	// instances that no task watches and whose resources have changed since. 0: never.
	Again time.Duration
	// Followers returns the resources that instances follow, for a Visit. nil: only a scan of all
	// resources finds the instances that follow resources of others.
	Followers inventory.Followers
	// Elsewhere returns why a model cannot be compiled here; it may be nil. The tasks of such a
	// model are left to a worker that can compile it.
	Elsewhere func(bundle.Opened) []diag.Problem
	// Preview: values of module allocators are unknown, and no allocator is called.
	Preview bool
	// Passwords keeps the passwords that models have generated; nil: a file in Dir keeps them.
	Passwords std.Passwords
	// Limit is the maximum duration of a compile; 0: no limit; negative: no time at all.
	Limit time.Duration
	// Limits bound the memory and the work of a model; the zero value: the defaults.
	Limits eval.Limits
	// Print receives the output of models; it may be nil.
	Print func(string)
	// Failed receives faults that stop the worker from doing its tasks; it may be nil.
	Failed func(error)
}

// Worker does the tasks of the instances of an environment. Each of its parts handles one concern,
// and a round combines them.
type Worker struct {
	Config
	turn      string // the id that marks its exports; "" if it is the only worker
	memory    *memory
	models    *models
	rules     rulebook
	outcomes  *outcomes
	following *following
	looks     looks
}

// memory is the state about instances that a worker keeps between rounds.
type memory struct {
	sets map[string][]resource.ID // the known resources of instances
	// awaited are the instances whose resources all changed with the last export, so that a run of
	// them is certain.
	awaited map[string]bool
	later   map[string]time.Time // the time of the next attempt for postponed tasks
	told    map[string]int64     // the desired state of the last repeated compile; see learn
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
	w.models = &models{Config: &w.Config, opened: map[string]bundle.Opened{},
		types: map[string]*schema.Registry{}}
	w.outcomes = &outcomes{Config: &w.Config, memory: w.memory}
	w.following = &following{Config: &w.Config, outcomes: w.outcomes}
	if c.Alone == nil {
		w.turn = c.Engine.NewID()
	}
	return w
}

// definitions returns an empty cache of definitions.
func (w *Worker) definitions() *definitions {
	return &definitions{Config: &w.Config, kept: map[keptKey]definition.Kept{}, known: w.rules}
}

// begin takes the turn of the environment. The engine then rejects exports of workers that took the
// turn earlier. The caller has to read the tasks afterwards.
func (w *Worker) begin(ctx context.Context) error {
	if w.turn == "" {
		return nil
	}
	e, err := w.Engine.State.Env(ctx, w.Env)
	if err != nil || e.Turn == w.turn {
		return err
	}
	w.following.forget() // another worker has run
	w.looks.forget()
	return w.Engine.LockExports(ctx, w.Env, w.turn)
}

const (
	// idle is the pause between checks for orders, and for the end of another worker.
	idle = 100 * time.Millisecond
	// maxDue is the number of instances in a round.
	maxDue = 200
	// retryAfter is the delay before a postponed task is tried again.
	retryAfter = 5 * time.Second
)

// Run works on orders until the function until returns true. It calls until before each round; nil:
// it runs until ctx ends. While another worker holds the environment, it waits. It reports faults
// of the infrastructure to Failed, and tries the affected tasks again.
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
				w.following.forget() // another worker has run
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
			_ = w.Engine.Clock.Sleep(ctx, idle) // the loop checks ctx
		}
		if ctx.Err() != nil {
			return fault.Wrap(fault.Canceled, "work on orders", context.Cause(ctx))
		}
	}
}

// Round does the tasks that are due, once, and reports whether there were any. If an environment
// has several workers, only the one that began a round last exports.
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

// now returns the current time in the precision of the stores.
func (c *Config) now() time.Time { return c.Engine.Clock.Now().UTC().Truncate(time.Microsecond) }
