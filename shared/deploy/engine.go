package deploy

import (
	"cmp"
	"context"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/deploy/worker"
	"southbound/shared/diag"
	"southbound/shared/internal/declared"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Config holds the dependencies of an engine. All fields are required except Sealer, Code, Sizes, and those
// that describe their effect when set.
//
// Large: this is where the engine is assembled: ports, the parts supplied by the program, and its
// callbacks. Each package below takes a smaller Config with the fields that it needs.
type Config struct {
	State     state.State
	Files     state.Files
	Notifier  state.Notifier
	Clock     state.Clock
	Caller    state.Caller
	Secrets   state.Secrets
	Connector state.Connector
	Types     *schema.Registry
	Handlers  map[string]provider.Handler // by type name
	// Bridges, by name, serve types that are declared as data. They may be nil.
	Bridges map[string]*provider.Bridge
	// Sealer encrypts the states that handlers keep. If it is nil, handlers keep no state here.
	Sealer state.Sealer
	// Code runs handlers that are shipped with resources. If it is nil, such handlers do not run
	// here.
	Code run.Code
	Pack string // digest of the handlers, recorded with every action
	// Holder identifies this process. Leases are held under Holder, "#" and a unique part.
	Holder string
	// NewID returns unique ids, each greater than those returned before.
	NewID func() string
	// Jitter returns a number in [0,1) for backoff.
	Jitter func() float64
	// Await, when set, makes a worker with nothing ready wait up to d for a notice of its lane
	// instead of ending. It returns the hints of the notices, or false if d passed without a
	// notice.
	Await func(ctx context.Context, env, lane string, d time.Duration) ([]resource.ID, bool)
	// NewMonitor, when set, returns the monitor of a worker. Only simulations set it.
	NewMonitor func() Monitor
	// Ended, when set, reports whether the process behind a holder of leases is known to have
	// ended.
	Ended func(holder string) bool
	// Ran, when set, is called after each commit of a worker with the number of resources that the
	// worker ran.
	Ran func(n int)
	// Waits, when set, is called with the reason why a worker waits for an agent, such as
	// "connection refused". Several goroutines may call it concurrently.
	Waits func(env, agent, why string)
	// Sizes limits how much is read or done in one step. They affect the cost, not the result.
	Sizes Sizes
	// Owned, when set, classifies the named resource sets by their owner. live are the sets of a
	// current owner other than the manual exporter, such as a live instance of a service. gone are
	// the sets whose owner is gone. Exports neither replace nor delete a live set. A release brings
	// back neither kind, unless the set is unchanged from the version in force.
	Owned func(ctx context.Context, env string, sets []string) (live, gone []string, err error)
	// Keep, when set, returns hashes of files that other components need, so that Collect does not
	// remove them.
	Keep func(ctx context.Context) ([]string, error)
	// Readable, when set, returns the reason, with a hint, why the process that serves an agent
	// cannot read a kind of secrets; nil: it can. An export and a plan with such a secret are
	// refused. If Readable is not set, each process can read all secrets.
	Readable func(a resource.Agent, source resource.SecretSource) error
}

// Sizes limits how much is read or done in one step. New replaces 0 by the default.
type Sizes struct {
	Page  int // rows of an environment per read
	Chunk int // approximate number of resources per chunk of a version
	Sweep int // entries of the outbox, and retries, that one sweep processes
	Asked int // maximum number of resources looked up by id; beyond that, everything is read again
	Claim int // maximum number of rows that a worker claims together and records in one commit
}

// defaultSizes returns s with zero fields replaced by defaults.
func defaultSizes(s Sizes) Sizes {
	return Sizes{
		Page: cmp.Or(s.Page, 5000), Chunk: cmp.Or(s.Chunk, 256), Sweep: cmp.Or(s.Sweep, 500),
		Asked: cmp.Or(s.Asked, 1000), Claim: cmp.Or(s.Claim, run.MaxGroup),
	}
}

// Engine runs environments over the ports. Between calls, it keeps only caches of immutable data,
// so any number of engines in any number of processes may serve the same state.
//
// Large: it is the facade: one method for each request and query. Most methods delegate to the
// package that does the work.
type Engine struct {
	Config
	graphs *version.Graphs
	known  *version.ContentsCache
	places *version.PlacesCache
	lists  *version.Listings
	views  *worker.Views
	caches run.Caches
	// declarations of types that this process has read
	declarations *declared.Cache
}

// New returns an engine.
func New(c Config) *Engine {
	c.Sizes = defaultSizes(c.Sizes)
	return &Engine{Config: c, graphs: version.NewGraphs(c.Files), known: version.NewContentsCache(),
		places: version.NewPlacesCache(c.Files), lists: version.NewListings(c.Files),
		views: worker.NewViews(), declarations: declared.NewCache(c.Types)}
}

// Close closes the values that handlers keep between runs. It is meant for the end of a process,
// but the engine may still be used afterwards.
func (e *Engine) Close() { e.caches.Close() }

// holder returns a new name for holding a lease: the name of this process, "#" and a unique part.
// Two tasks of one process therefore exclude each other as well.
func (e *Engine) holder() string { return e.Holder + "#" + e.NewID() }

// client returns the state client for the ports of this engine.
func (e *Engine) client() *state.Client {
	return &state.Client{State: e.State, Notifier: e.Notifier, Clock: e.Clock, NewHolder: e.holder,
		Ended: e.Ended, Page: e.Sizes.Page}
}

// planner returns the planner of this engine.
func (e *Engine) planner() *planner.Planner {
	return planner.New(
		planner.Config{Client: e.client(), Files: e.Files, Secrets: e.Secrets, Graphs: e.graphs,
			Contents: e.known, Checker: e.checker(), Runs: e.runner(), Types: e.Types,
			Handlers: e.Handlers, Pack: e.Pack, NewID: e.NewID, ChunkSize: e.Sizes.Chunk,
			SweepSize: e.Sizes.Sweep, Owned: e.Owned,
			Keep: e.Keep, Readable: e.Readable},
	)
}

// laneConfig returns the configuration of a worker of this engine.
func (e *Engine) laneConfig() worker.Config {
	return worker.Config{Client: e.client(), Graphs: e.graphs, Views: e.views, Runs: e.runner(),
		FollowUp: e.planner().FollowUp, Jitter: e.Jitter, Await: e.Await, Ran: e.Ran,
		Waits: e.Waits, NewMonitor: e.NewMonitor,
		Asked: e.Sizes.Asked, Claim: e.Sizes.Claim}
}

// Monitor protects the state of a worker, which its lanes share.
type Monitor = worker.Monitor

// AgentRun describes how a run of a lane ended.
type AgentRun = worker.Outcome

// RunAgent runs the ready resources of a lane until none is ready, the time is up, or the lane is
// paused. Any number of processes may call it at any time: one of them serves the lane, the others
// return with LaneRun.Busy. Errors are faults of infrastructure; a failing resource is data.
func (e *Engine) RunAgent(ctx context.Context, env, name string, until time.Time) (AgentRun, error) {
	return worker.Run(ctx, e.laneConfig(), env, name, until)
}

// AgentsWithWork returns the lanes in which a resource may start or a check of everything has to be
// ended, sorted. All other lanes wait for these lanes, which notify them.
func (e *Engine) AgentsWithWork(ctx context.Context, env string) ([]string, error) {
	return worker.Startable(ctx, e.State, e.graphs, env)
}

// runner returns the runner for the handlers of this engine.
func (e *Engine) runner() *run.Runner {
	return run.New(run.Config{Clock: e.Clock, Caller: e.Caller, Files: e.Files, Secrets: e.Secrets,
		Connector: e.Connector, Facts: e.State, Keeps: e.State, Sealer: e.Sealer,
		Types: e.Types, Handlers: e.Handlers, Bridges: e.Bridges, Declarations: e.declarations,
		Code: e.Code,
		Pack: e.Pack, NewID: e.NewID}, &e.caches)
}

// checker returns the model checker for the types of this engine.
func (e *Engine) checker() *model.Checker {
	return model.NewChecker(e.Types, e.Handlers, e.declarations, e.Files)
}

// Validate performs the checks of a model that need no state; see model.Checker.Validate.
func (e *Engine) Validate(m *model.Model) diag.Problems { return e.checker().Validate(m) }

// ValidateClosed is Validate, and also refuses requirements of resources that are not in the model.
// It is the complete check of an export that is not partial.
func (e *Engine) ValidateClosed(m *model.Model) diag.Problems {
	return e.checker().ValidateClosed(m)
}
