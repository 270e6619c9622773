// Package api is what can be asked of an environment: Home, as a service in this process or as a
// client of one over HTTP.
//
// Service answers from the engine, Handler serves it over HTTP with OpenAPI 3.1 made from the code,
// and Client asks such a server. What they return is the same, also the kinds and hints of errors.
//
//	command ── Home ──┬── Service ─────────────────────────────── deploy.Engine, orders.Service
//	                  └── Client ──HTTP── Handler ── routes ── Service
//
// An export travels as a bundle: files by hash, of which only those are sent that the server has
// not, and resources in chunks (chunk). A comparison with reality may take longer than a request:
// it is a job (jobs), whose parts for machines that only runners reach are theirs (parts, work). A
// plan that is kept (kept) is a file that Service made and takes back. Every answer of a route is
// declared once, as a type here; commands with --json write the same types.
package api

import (
	"context"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// Home is what the command line works through. Filters are the terms that state.ParseFilter reads.
// Errors are faults, or diag.Problems where a model is handed in.
//
// It has so many methods because it is a door: one for each request of the HTTP API.
type Home interface {
	// Progress returns how far an environment is.
	Progress(ctx context.Context, env string) (Progress, error)
	// Health returns what is not well.
	Health(ctx context.Context, env string) (Health, error)
	// Resources calls f for every resource that matches, in order of id, until f returns an error.
	Resources(ctx context.Context, env string, filter []string, f func(*Resource) error) error
	// Resource returns one.
	Resource(ctx context.Context, env string, id resource.ID) (Detail, error)
	// Versions returns the versions that are kept, ascending.
	Versions(ctx context.Context, env string) ([]Version, error)
	// Agents returns the agents by name.
	Agents(ctx context.Context, env string) ([]Agent, error)
	// Actions returns actions, newest first.
	Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error)
	// Parameters returns parameters, or facts.
	Parameters(ctx context.Context, env string, facts bool) ([]state.Parameter, error)
	// Parameter returns a parameter of the environment; NotFound when there is none.
	Parameter(ctx context.Context, env, name string) (state.Parameter, error)
	// ParameterHistory returns what became of a parameter, the newest first, as far back as actions
	// are kept; none: it was never set.
	ParameterHistory(ctx context.Context, env, name string) ([]state.ParameterChange, error)
	// SetParameter sets a parameter and returns it as stored.
	SetParameter(ctx context.Context, env, name, value string) (state.Parameter, error)
	// Suggest has a parameter be values that forms suggest, as models give them. Nothing is stored
	// if it has them already.
	Suggest(ctx context.Context, env, name string, values []any) error
	// DeleteParameter removes a parameter; that it is absent is not an error.
	DeleteParameter(ctx context.Context, env, name string) error
	// Types returns the resource types, by name.
	Types(ctx context.Context) ([]Type, error)
	// Schedule asks for work on what is released and returns how many resources that are.
	Schedule(ctx context.Context, env string, w Work) (int, error)
	// DryRun compares what matches of a version (0: the released one) with reality; whole: it
	// answers with values as long as they are.
	DryRun(ctx context.Context, env string, version int, filter []string,
		whole bool) (deploy.DryRun, error)
	// Discover describes what exists of a type on an agent; see deploy.Engine.Discover.
	Discover(ctx context.Context, env string, d Discover) (Discovered, error)
	// Pause stops claims of agents, or lets them go on.
	Pause(ctx context.Context, env string, paused bool, agents ...string) error
	// Halt stops all claims, or lets them go on.
	Halt(ctx context.Context, env string, halted bool) error
	// Collect removes what is old; see deploy.Engine.Collect.
	Collect(ctx context.Context, env string, grace time.Duration) (deploy.Collected, error)
	// Prune returns what was made outside the stack for agents that no version names and for which
	// nothing is scheduled, and removes it when remove is set. A home that makes nothing for agents
	// returns nothing.
	Prune(ctx context.Context, env string, remove bool) ([]Pruned, error)
	// Known reports whether inputs of this fingerprint are what is released.
	Known(ctx context.Context, env, fingerprint string) (deploy.Exported, bool, error)
	// Export stores and releases a model. progress, when not nil, is called while it is sent.
	Export(ctx context.Context, env string, x deploy.Export, progress func(Sent)) (
		deploy.Exported, error)
	// Release puts a stored version in force, an earlier or a later one; see deploy.Engine.Release.
	Release(ctx context.Context, env string, number int, by Origin) (deploy.Exported, error)
	// Compare says what going from one stored version to another would do, without reading
	// reality, and if the first one is in force, why the release of the other would be refused.
	Compare(ctx context.Context, env string, from, to int, whole bool) (deploy.DryRun, error)
	// Described returns a version with its agents as documents have them.
	Described(ctx context.Context, env string, number int) (Described, error)
	// Descriptions calls f for the resources of a version as documents have them, in no order: for
	// that of an id, NotFound if there is none, or for all.
	Descriptions(ctx context.Context, env string, number int, id resource.ID,
		f func(*Description) error) error
	// VersionFile returns the bytes of a file that resources of a version refer to; NotFound if
	// they refer to no such file.
	VersionFile(ctx context.Context, env string, number int, hash string) ([]byte, error)
	// Forget lets go of a resource that left the model, or of an agent; see deploy.Engine.Forget
	// and ForgetAgent.
	Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error)
	// Environments returns the names of all environments, sorted.
	Environments(ctx context.Context) ([]string, error)
	// Plan says all that an apply would do; see deploy.Engine.Preview.
	Plan(ctx context.Context, env string, x deploy.Export, opts deploy.CompareOptions) (
		deploy.DryRun, error)
	// Offer makes services those of an environment, which are compiled with a model bundle from
	// then on, and says what became of each. See definition.Store.
	Offer(ctx context.Context, env string, bundle state.Blob,
		services []definition.Service) ([]OfferedService, error)
	// PreviewOrder returns what an order would come to, and places none.
	PreviewOrder(ctx context.Context, env string, d orders.Draft) (InstancePreview, error)
	// PreviewModel returns what instances, at most MaxPlanned, would come to with a model bundle that
	// is not offered.
	PreviewModel(ctx context.Context, env string, bundle state.Blob,
		services []definition.Service, ids []string) ([]InstancePreview, error)
	// Orders returns what takes orders of services; Unsupported where the home keeps none.
	Orders() (Orders, error)
}

// Pruned is the queue of an agent that is not needed, or was not.
type Pruned struct {
	Agent string `json:"agent"`
	Queue string `json:"queue"`
	// Mapping says what Lambda does with the queue, such as Enabled; empty: nothing.
	Mapping string `json:"mapping,omitempty"`
	Removed bool   `json:"removed"`
}

// Sent says how far an upload is.
type Sent struct {
	Files, OfFiles int
	Bytes, OfBytes int64
}

// Work asks for work on what is released.
type Work struct {
	Filter      []string
	Repair      bool // check everything that matches against reality, not only what is unfinished
	RetryFailed bool
}
