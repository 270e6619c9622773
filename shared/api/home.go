// Package api defines the operations on environments: Home, implemented by a service in this
// process and by a client of a service over HTTP.
//
// Service answers from the engine, Handler serves it over HTTP with OpenAPI 3.1 made from the code,
// and Client sends requests to such a server. Both return the same results, including the kinds and
// hints of errors.
//
//	command ── Home ──┬── Service ─────────────────────────────── deploy.Engine, orders.Service
//	                  └── Client ──HTTP── Handler ── routes ── Service
//
// An export is transferred as a bundle: files by hash, of which the client sends only those that
// the server lacks, and resources in chunks (chunk). A comparison with reality may take longer than
// a request, so it is a job (jobs). Runners process the parts of a job for machines that only they
// reach (parts, work). A kept plan (kept) is a file that Service writes and accepts again. Every
// answer of a route is declared once, as a type here; commands with --json write the same types.
package api

import (
	"context"
	"time"

	"southbound/shared/api/document"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// Reader is the read side of a home.
type Reader interface {
	EnvironmentReader
	TypeReader
	ActionReader
	AgentReader
	ResourceReader
	VersionReader
	ParameterReader
}

// Home is the interface through which the command line works: one port for each kind of resource and
// role. Filters are the terms that state.ParseFilter reads. Errors are faults, or diag.Problems for
// methods that take a model.
type Home interface {
	Reader
	EnvironmentOperator
	AgentOperator
	ResourceOperator
	Exporter
	Comparer
	ParameterWriter
	Offerer
	OrderPreviewer
	// Orders returns the service for orders; Unsupported if the home keeps none.
	Orders() (Orders, error)
}

// EnvironmentReader reads environments as a whole.
type EnvironmentReader interface {
	// Environments returns the names of all environments, sorted.
	Environments(ctx context.Context) ([]string, error)
	// Progress returns the progress of an environment.
	Progress(ctx context.Context, env string) (Progress, error)
}

// EnvironmentOperator acts on environments as a whole.
type EnvironmentOperator interface {
	// Halt stops all claims, or resumes them.
	Halt(ctx context.Context, env string, halted bool) error
	// Collect removes old data; see deploy.Engine.Collect.
	Collect(ctx context.Context, env string, grace time.Duration) (deploy.Collected, error)
}

// TypeReader reads the resource types of a home.
type TypeReader interface {
	// Types returns the resource types, by name.
	Types(ctx context.Context) ([]Type, error)
}

// ActionReader reads actions.
type ActionReader interface {
	// Actions returns actions, newest first.
	Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error)
}

// AgentReader reads agents.
type AgentReader interface {
	// Agents returns the agents by name.
	Agents(ctx context.Context, env string) ([]Agent, error)
}

// AgentOperator acts on agents.
type AgentOperator interface {
	// Pause stops claims of agents, or resumes them.
	Pause(ctx context.Context, env string, paused bool, agents ...string) error
	// Prune returns the objects outside the stack that were created for agents which no version
	// names and for which nothing is scheduled. With remove, Prune also deletes them. A home that
	// creates no objects for agents returns nothing.
	Prune(ctx context.Context, env string, remove bool) ([]Pruned, error)
}

// ResourceReader reads the state of resources. Filters are the terms that state.ParseFilter reads.
type ResourceReader interface {
	// Resources calls f for every resource that matches, in order of id, until f returns an error.
	Resources(ctx context.Context, env string, filter []string, f func(*Resource) error) error
	// Resource returns one resource.
	Resource(ctx context.Context, env string, id resource.ID) (Detail, error)
	// Health returns the unhealthy resources.
	Health(ctx context.Context, env string) (Health, error)
}

// ResourceOperator acts on resources. Filters are the terms that state.ParseFilter reads.
type ResourceOperator interface {
	// Schedule schedules work on the released version and returns the number of scheduled
	// resources.
	Schedule(ctx context.Context, env string, w Work) (int, error)
	// Forget forgets a resource that left the model, or an agent; see deploy.Engine.Forget and
	// ForgetAgent.
	Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error)
}

// VersionReader reads stored versions.
type VersionReader interface {
	// Versions returns the stored versions, ascending.
	Versions(ctx context.Context, env string) ([]Version, error)
	// Compare returns the changes from one stored version to another, without reading reality. If
	// the first version is in force, Compare also returns why the release of the other would be
	// rejected.
	Compare(ctx context.Context, env string, from, to int, whole bool) (deploy.DryRun, error)
	// Described returns a version with its agents in the form of documents.
	Described(ctx context.Context, env string, number int) (Described, error)
	// Descriptions calls f for the resources of a version in the form of documents, in no order.
	// With an id it calls f for that resource, NotFound if there is none; otherwise for all.
	Descriptions(ctx context.Context, env string, number int, id resource.ID,
		f func(*document.Description) error) error
	// VersionFile returns the bytes of a file to which resources of a version refer; NotFound if
	// they refer to no such file.
	VersionFile(ctx context.Context, env string, number int, hash string) ([]byte, error)
}

// Exporter stores versions and puts them in force.
type Exporter interface {
	// Known reports whether inputs with this fingerprint are the released version.
	Known(ctx context.Context, env, fingerprint string) (deploy.Exported, bool, error)
	// Export stores and releases a model. progress, if not nil, is called during the upload.
	Export(ctx context.Context, env string, x deploy.Export, progress func(Sent)) (
		deploy.Exported, error)
	// Release puts a stored version in force, an earlier or a later one; see deploy.Engine.Release.
	Release(ctx context.Context, env string, number int, by Origin) (deploy.Exported, error)
}

// Comparer compares with reality and changes nothing. Filters are the terms that state.ParseFilter reads.
type Comparer interface {
	// DryRun compares the matching resources of a version (0: the released one) with reality. With
	// whole, values are not truncated.
	DryRun(ctx context.Context, env string, version int, filter []string,
		whole bool) (deploy.DryRun, error)
	// Plan returns all changes that an apply would make; see deploy.Engine.Preview.
	Plan(ctx context.Context, env string, x deploy.Export, opts deploy.CompareOptions) (
		deploy.DryRun, error)
	// Discover describes the existing things of a type on an agent; see deploy.Engine.Discover.
	Discover(ctx context.Context, env string, d Discover) (Discovered, error)
}

// ParameterReader reads parameters and facts.
type ParameterReader interface {
	// Parameters returns parameters, or facts.
	Parameters(ctx context.Context, env string, facts bool) ([]state.Parameter, error)
	// Parameter returns a parameter of the environment; NotFound if it does not exist.
	Parameter(ctx context.Context, env, name string) (state.Parameter, error)
	// ParameterHistory returns the changes of a parameter, the newest first, as far back as actions
	// are kept; none: it was never set.
	ParameterHistory(ctx context.Context, env, name string) ([]state.ParameterChange, error)
}

// ParameterWriter changes parameters.
type ParameterWriter interface {
	// SetParameter sets a parameter and returns it as stored.
	SetParameter(ctx context.Context, env, name, value string) (state.Parameter, error)
	// Suggest sets the suggested values of a parameter for forms, as models do. It stores nothing
	// if the parameter already has them.
	Suggest(ctx context.Context, env, name string, values []any) error
	// DeleteParameter removes a parameter; a missing one is no error.
	DeleteParameter(ctx context.Context, env, name string) error
}

// Offerer replaces the services of an environment.
type Offerer interface {
	// Offer replaces the services of an environment, which are compiled with a model bundle from
	// then on, and returns the change of each. See definition.Store.
	Offer(ctx context.Context, env string, bundle state.Blob,
		services []definition.Service) ([]OfferedService, error)
}

// OrderPreviewer returns the effect of orders and models, and stores nothing.
type OrderPreviewer interface {
	// PreviewOrder returns the result that an order would have, and places none.
	PreviewOrder(ctx context.Context, env string, d orders.Draft) (InstancePreview, error)
	// PreviewModel returns the results of instances, at most MaxPlanned, with a model bundle that
	// is not offered.
	PreviewModel(ctx context.Context, env string, bundle state.Blob,
		services []definition.Service, ids []string) ([]InstancePreview, error)
}

// Pruned is the queue of an agent that is not needed, or was removed.
type Pruned struct {
	Agent string `json:"agent"`
	Queue string `json:"queue"`
	// Mapping is the state of Lambda's event source mapping of the queue, such as Enabled; "":
	// none.
	Mapping string `json:"mapping,omitempty"`
	Removed bool   `json:"removed"`
}

// Sent is the progress of an upload.
type Sent struct {
	Files, OfFiles int
	Bytes, OfBytes int64
}

// Work is a request to schedule work on the released version.
type Work struct {
	Filter      []string
	Repair      bool // check all matching resources against reality, not only unfinished ones
	RetryFailed bool
}
