package services

import (
	"context"
	"fmt"
	"time"

	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/engine"
	"southbound/shared/lang/lsm"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/inventory"
)

// env is the only environment of a simulation.
const env = "sim"

// Compile compiles the model with a digest for instances.
type Compile func(
	ctx context.Context, digest string, s *lsm.Services,
) (*compile.Compiled, error)

// run is one run of a plan.
//
// Large: it is one world, and each rule checks all of it.
type run struct {
	models *Models
	plan   *Plan
	mutant Mutant
	bench  *engine.Bench

	instances   *Instances
	definitions *Definitions
	world       *world
	api         *engine.Process
	runners     []*runner // nil: crashed and not restarted yet
	started     int
	ids         int
	busy        bool // the lane was busy, and will be served again
	released    bool // a version may have been released by hand
	asking      int  // the number of pending requests to the engine
	// looked is the time of the last visit of all instances.
	looked time.Duration

	said map[string]said // the last written request for each instance
	// followed are the pages that notes follow since their last export.
	followed map[string][]resource.ID
	kinds    map[string]int // the number of events of each kind
}

// newRun prepares a run.
func newRun(
	m *Models, p *Plan, mutant Mutant, trace func(format string, args ...any),
) *run {
	r := &run{
		models: m, plan: p, mutant: mutant, bench: engine.NewBench(p.Seed, p.Rates, trace),
		instances: NewInstances(), said: map[string]said{}, kinds: map[string]int{},
		followed: map[string][]resource.ID{},
		runners:  make([]*runner, p.Workers),
	}
	r.instances.loose = mutant.Loose
	r.definitions = NewDefinitions(r.instances)
	r.definitions.known = m.kept
	if p.Dead {
		r.bench.KnowDead()
	}
	if mutant.Removes {
		r.definitions.Versions = func(string) map[Version]int { return nil }
	}
	r.world = &world{
		r: r, pages: map[resource.ID]string{}, broken: map[resource.ID]bool{},
		late: map[resource.ID]bool{}, ran: map[*engine.Process][]resource.ID{},
	}
	return r
}

func (r *run) happened(kind string) { r.kinds[kind]++ }

// all runs the plan, the recovery, and the checks of the final state.
func (r *run) all() error {
	first := &r.models.offers[0]
	err := r.definitions.Put(context.Background(), env, first.digest, first.services)
	if err != nil {
		return err
	}
	for at := range r.runners {
		r.startRunner(at)
	}
	end := time.Duration(0)
	for i := range r.plan.Ops {
		op := &r.plan.Ops[i]
		r.bench.At(op.At, func() { r.do(op) })
		end = max(end, op.At)
	}
	r.bench.Run(end + 10*time.Second) // for the operations that are in progress
	r.rest()
	return nil
}

// newID returns increasing ids.
func (r *run) newID() string {
	r.ids++
	return fmt.Sprintf("i%09d", r.ids)
}

// newInstance returns an id for an instance.
func (r *run) newInstance() string {
	r.ids++
	return idOf(1000 + r.ids) // none of the ids in plans
}

// runner is a process that carries out orders and deploys.
type runner struct {
	*engine.Process
	r      *run
	at     int            // its index among concurrent runners
	engine *deploy.Engine // serves lanes
	worker *fulfil.Worker
	sweeps bool
	last   compiled // its last compile
	inbox  notice   // the instances to visit
	// seen are the instances that its worker has read and written since it began its round.
	seen map[string][]*inventory.Record
}

// startRunner starts a process that carries out orders and deploys.
func (r *run) startRunner(at int) {
	r.started++
	x := &runner{Process: r.bench.Start(fmt.Sprintf("w%d", r.started)), r: r, at: at,
		seen: map[string][]*inventory.Record{}}
	r.runners[at] = x
	var definitions definition.Store = &definitionsPort{x.Process, r}
	var instances inventory.Store = &instancesPort{p: x.Process, r: r, by: x}
	c := deploy.Config{
		State: x.State(r.bench.State), Files: x.Files(r.bench.Files), Notifier: notifier{x},
		Clock: x.Clock(), Caller: x.Caller(), Connector: x.Connector(), Types: r.models.types,
		Handlers: map[string]provider.Handler{typePage: r.world}, Pack: "sim",
		Holder: fmt.Sprintf("w%d", r.started), NewID: r.newID, Jitter: r.bench.Rand().Float64,
		Keep:  definitions.Bundles,
		Owned: r.owned(x.Process),
	}
	x.engine = deploy.New(c)
	if m := r.mutant.State; m != nil {
		c.State = m(c.State)
	}
	if m := r.mutant.Instances; m != nil {
		instances = m(instances, true)
	}
	if m := r.mutant.Definitions; m != nil {
		definitions = m(definitions, r.models, true)
	}
	config := fulfil.Config{
		Env: env, Instances: instances, Definitions: definitions, Engine: deploy.New(c),
		Types: r.models.types, Compile: r.compiler(x),
	}
	work := x.work
	if r.plan.Visits {
		config.Notified, config.Again = true, againEvery
		config.Followers = &instancesPort{p: x.Process, r: r}
		work = x.visits
	}
	if r.mutant.Trusts {
		config.Again = 0
	}
	if r.mutant.Alone {
		config.Alone = func(string) (func(), bool, error) { return func() {}, true, nil }
	}
	x.worker = fulfil.New(config)
	x.Go("works", func(ctx context.Context) {
		work(ctx)
		x.ended()
	})
	r.sweep(x)
}

// owned returns the function that tells a process the owners of resource sets.
func (r *run) owned(
	p *engine.Process,
) func(ctx context.Context, env string, sets []string) (live, gone []string, err error) {
	return func(ctx context.Context, env string, sets []string) (live, gone []string, err error) {
		err = p.Call(ctx, "Owners", func() (err error) {
			live, gone, err = r.instances.Owners(ctx, env, sets)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		if m := r.mutant.Owned; m != nil {
			live, gone = m(live, gone)
		}
		return live, gone, nil
	}
}

// work carries out orders until the process ends.
func (x *runner) work(ctx context.Context) {
	for !x.Dead() {
		clear(x.seen)
		worked, err := x.worker.Round(ctx)
		if err != nil {
			x.r.bench.Tracef("a round ends: %v", err)
		}
		if x.Dead() {
			return
		}
		if !worked || err != nil {
			pause := 50*time.Millisecond +
				time.Duration(x.r.bench.Rand().Int64N(int64(time.Second)))
			_ = x.Clock().Sleep(ctx, pause)
		}
	}
}

// ended starts another process in place of a crashed one.
func (x *runner) ended() {
	x.r.happened("crash of the worker")
	x.r.runners[x.at] = nil
	back := x.r.bench.Now()
	if x.r.bench.Faulty() {
		back += time.Duration(x.r.bench.Rand().Int64N(int64(5 * time.Second))) // soon
	}
	x.r.bench.At(back, func() { x.r.startRunner(x.at) })
}

// alive returns any running process; nil if there is none.
func (r *run) alive() *runner {
	first := 0
	if len(r.runners) > 1 {
		first = r.bench.Rand().IntN(len(r.runners))
	}
	for i := range r.runners {
		if x := r.runners[(first+i)%len(r.runners)]; x != nil {
			return x
		}
	}
	return nil
}

// sweepEvery is the interval between sweeps of a runner.
const sweepEvery = 3 * time.Second

// sweep sweeps periodically while a process lives.
func (r *run) sweep(x *runner) {
	if x.Dead() {
		return
	}
	if !x.sweeps {
		x.sweeps = true
		x.Go("sweeps", func(ctx context.Context) {
			_, err := x.engine.Sweep(ctx, env)
			if err == nil && r.plan.Visits {
				err = x.sweepOrders(ctx)
			}
			x.sweeps = false
			if err != nil {
				r.bench.Tracef("a sweep ends: %v", err)
			}
		})
	}
	r.bench.At(r.bench.Now()+sweepEvery, func() { r.sweep(x) })
}

// notifier is state.Notifier as a process calls it.
type notifier struct{ x *runner }

// Notify implements state.Notifier.
func (b notifier) Notify(ctx context.Context, _ string, notices []state.Notice) error {
	return b.x.Call(ctx, "Notify", func() error {
		for _, notice := range notices {
			for _, late := range b.x.r.bench.Lost() {
				b.x.r.bench.At(b.x.r.bench.Now()+late, func() { b.x.r.serve(notice.Agent) })
			}
		}
		return nil
	})
}

// serve runs the ready resources of a lane.
func (r *run) serve(lane string) {
	x := r.alive()
	if x == nil {
		return // no process receives the message
	}
	const limit = 30 * time.Second
	x.Go("serves "+lane, func(ctx context.Context) {
		out, err := x.engine.RunAgent(ctx, env, lane, r.bench.Time().Add(limit))
		if err != nil {
			r.bench.Tracef("a run of %s ends: %v", lane, err)
		}
		if r.plan.Visits && !x.Dead() {
			r.notify(notice{ids: r.world.ranSets(x.Process)})
		}
		if (out.Busy || out.More) && !r.busy && !x.Dead() {
			r.busy = true
			const later = 200 * time.Millisecond
			r.bench.At(r.bench.Now()+later, func() {
				r.busy = false
				r.serve(lane)
			})
		}
	})
}
