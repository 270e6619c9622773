package deploy

import (
	"cmp"
	"context"
	"time"

	"southbound/shared/deploy/lane"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Config holds what an engine is built from. All fields are required but Code, Sizes, and those
// that say what they do when they are set.
//
// Large: this is where the engine is put together: ports, what the program brings, and what it
// wants to be notified of. Each room takes a Config of its own, of what it needs.
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
	// runs handlers that come with resources; nil: none is run here
	Code run.Code
	Pack string // digest of the handlers, recorded with every action
	// identifies this process; leases are held under it, "#" and a unique part
	Holder string
	NewID  func() string // unique, and greater than those made before
	// Jitter returns a number in [0,1) for backoff.
	Jitter func() float64
	// Await, when set, lets a worker with nothing ready wait up to d for a notice of its lane
	// instead of ending. It returns the hints of the notices, and false when d passed without one.
	Await func(ctx context.Context, env, lane string, d time.Duration) ([]resource.ID, bool)
	// Ended, when set, reports whether the process behind a holder of leases is known to have ended.
	Ended func(holder string) bool
	// Ran, when set, is called after each commit of a worker with the number of resources that it
	// ran.
	Ran func(n int)
	// Waits, when set, is told why an agent is waited for, such as "connection refused". It is
	// called by several goroutines at once.
	Waits func(env, agent, why string)
	// Sizes are the sizes of what is read or done at a time. They change no result, only what it
	// costs.
	Sizes Sizes
	// Owned, when set, returns those of the named resource sets that belong to somebody else than
	// whoever exports by hand, such as live instances of services, and those that did until their
	// owner was gone. Exports neither replace nor delete the former, and a release brings back none
	// of either that is not in force as it was.
	Owned func(ctx context.Context, env string, sets []string) (live, gone []string, err error)
	// Keep, when set, returns hashes of files that others need, so that no collection removes them.
	Keep func(ctx context.Context) ([]string, error)
}

// Sizes says how much is read or done at a time; for what is 0, New uses the default.
type Sizes struct {
	Page  int // rows of an environment that are read at a time
	Chunk int // about how many resources are in a chunk of a version
	Sweep int // entries of the outbox, and retries, that one sweep takes on
	Asked int // resources that are looked up by id; for more, everything is read again
	Claim int // rows that a worker claims at a time, and records in one commit, at most
}

// defaultSizes returns s with defaults for what is 0.
func defaultSizes(s Sizes) Sizes {
	return Sizes{
		Page: cmp.Or(s.Page, 5000), Chunk: cmp.Or(s.Chunk, 256), Sweep: cmp.Or(s.Sweep, 500),
		Asked: cmp.Or(s.Asked, 1000), Claim: cmp.Or(s.Claim, run.MaxGroup),
	}
}

// Engine runs environments over the ports. It keeps only caches of immutable data between calls, so
// any number of engines in any number of processes may serve the same state.
//
// Large: it is the facade: one method for each request and query. Most hand their work to the
// package that does it.
type Engine struct {
	Config
	graphs *version.Graphs
	known  *planner.Contents
	views  *lane.Views
	caches run.Caches
}

// New returns an engine.
func New(c Config) *Engine {
	c.Sizes = defaultSizes(c.Sizes)
	return &Engine{Config: c, graphs: version.NewGraphs(c.Files), known: planner.NewContents(),
		views: lane.NewViews()}
}

// Close closes what handlers keep between runs. It is meant for the end of a process, but the
// engine may still be used afterwards.
func (e *Engine) Close() { e.caches.Close() }

// holder returns a new name to hold a lease under: that of this process, "#" and a unique part, so
// that two tasks of one process exclude each other as well.
func (e *Engine) holder() string { return e.Holder + "#" + e.NewID() }

// client returns what uses the ports of this engine.
func (e *Engine) client() *state.Client {
	return &state.Client{State: e.State, Notifier: e.Notifier, Clock: e.Clock, NewHolder: e.holder,
		Ended: e.Ended, Page: e.Sizes.Page}
}

// planner returns what plans for this engine.
func (e *Engine) planner() *planner.Planner {
	return planner.New(
		planner.Config{Client: e.client(), Files: e.Files, Secrets: e.Secrets, Graphs: e.graphs,
			Contents: e.known, Checker: e.checker(), Runs: e.runner(), Types: e.Types,
			Handlers: e.Handlers, Pack: e.Pack, NewID: e.NewID, ChunkSize: e.Sizes.Chunk,
			SweepSize: e.Sizes.Sweep, Owned: e.Owned,
			Keep: e.Keep},
	)
}

// laneConfig returns what a worker of this engine works with.
func (e *Engine) laneConfig() lane.Config {
	return lane.Config{Client: e.client(), Graphs: e.graphs, Views: e.views, Runs: e.runner(),
		FollowUp: e.planner().FollowUp, Jitter: e.Jitter, Await: e.Await, Ran: e.Ran,
		Waits: e.Waits,
		Asked: e.Sizes.Asked, Claim: e.Sizes.Claim}
}

// LaneRun says how a run of a lane ended.
type LaneRun = lane.Outcome

// RunLane runs what is ready in a lane until nothing is, the time is up, or the lane is paused. Any
// number of processes may call it at any time: one of them serves the lane, the others return with
// LaneRun.Busy. Errors are faults of infrastructure; a failing resource is data.
func (e *Engine) RunLane(ctx context.Context, env, name string, until time.Time) (LaneRun, error) {
	return lane.Run(ctx, e.laneConfig(), env, name, until)
}

// WorkLanes returns the lanes in which something may start or a wave has to be ended, sorted. The
// others wait for these, and are notified by them.
func (e *Engine) WorkLanes(ctx context.Context, env string) ([]string, error) {
	return lane.Startable(ctx, e.State, e.graphs, env)
}

// runner returns what makes runs of the handlers of this engine.
func (e *Engine) runner() *run.Runner {
	return run.New(run.Config{Clock: e.Clock, Caller: e.Caller, Files: e.Files, Secrets: e.Secrets,
		Connector: e.Connector, Facts: e.State, Types: e.Types, Handlers: e.Handlers, Code: e.Code,
		Pack: e.Pack, NewID: e.NewID}, &e.caches)
}

// checker returns what checks models by the types of this engine.
func (e *Engine) checker() *model.Checker { return model.NewChecker(e.Types, e.Handlers) }

// Validate checks a model as far as that needs no state; see model.Checker.Validate.
func (e *Engine) Validate(m *model.Model) diag.Problems { return e.checker().Validate(m) }

// ValidateClosed is Validate, and also refuses requirements of resources that are not in the model.
// It is the whole check of an export that is not partial.
func (e *Engine) ValidateClosed(m *model.Model) diag.Problems {
	return e.checker().ValidateClosed(m)
}
