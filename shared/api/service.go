package api

import (
	"cmp"
	"context"
	"time"

	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/comparisons"
	"southbound/shared/api/environments"
	"southbound/shared/api/exports"
	"southbound/shared/api/files"
	"southbound/shared/api/graphs"
	"southbound/shared/api/jobs"
	"southbound/shared/api/parameters"
	"southbound/shared/api/previews"
	"southbound/shared/api/resources"
	"southbound/shared/api/results"
	"southbound/shared/api/search"
	"southbound/shared/api/services"
	"southbound/shared/api/states"
	"southbound/shared/api/tenant"
	"southbound/shared/api/types"
	"southbound/shared/api/versions"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
	"southbound/shared/transport"
)

// Config is the configuration of a service.
//
// Large: it assembles a server from all the parts that it serves.
type Config struct {
	Engine *deploy.Engine
	// Sign, if not nil, returns requests that upload files directly to their store, so that their
	// bytes do not pass through the API.
	Sign func(ctx context.Context, hash string, size int64) (files.Upload, error)
	// Jobs, if not nil, stores the records of jobs, which are comparisons with reality. Start calls
	// Service.Work for one, in this process or in another, and does not wait for it. Without Jobs,
	// requests for comparisons are rejected. See docs/design/jobs.md.
	Jobs  state.Jobs
	Start func(ctx context.Context, env, id string) error
	// ByRunner, if not nil, reports whether only runners reach an agent: they read its things, in
	// parts of jobs. NotifyRunner notifies a runner of an agent about a waiting part; it is called
	// again if no runner takes the part.
	ByRunner     func(resource.Agent) bool
	NotifyRunner func(ctx context.Context, env, agent, part string) error
	// Unserved, if not nil, returns the agents with work that no process does, and since how long.
	Unserved func(ctx context.Context, env string) (map[string]time.Duration, error)
	// Changed, if not nil, is called when an environment may have new work.
	Changed func(env string)
	// History, if not nil, implements Home.ParameterHistory.
	History func(ctx context.Context, env, name string) ([]state.ParameterChange, error)
	// Agent, if not nil, returns the problems of the description of an agent, in place of
	// transport.Check: a pack may bring transports.
	Agent func(resource.Agent) []diag.Problem
	// Unneeded, if not nil, implements Home.Prune.
	Unneeded func(ctx context.Context, env string, remove bool) ([]agents.Pruned, error)
	// Stopping, if not nil, ends when the server stops: requests that wait for a change then answer.
	Stopping context.Context
	// Waits, if not nil, returns why agents of an environment are waited for, limited to agents
	// that this process serves.
	Waits func(env string) map[string]string
	// ByCommands reports that only commands of users do work, and no server.
	ByCommands bool
	// Services, if not nil, accepts orders of services.
	Services *orders.Service
	// Definitions, if not nil, stores the definitions of services.
	Definitions definition.Store
	// Previews, if not nil, compiles the effect of orders and models.
	Previews previews.Previewer
	// Audit, if not nil, records what callers request. Caller is the caller of requests whose
	// context names none; see wire.WithCaller.
	Audit  state.AuditLog
	Caller wire.Caller
	// About is the server's description of itself; name, api and openapi are filled in.
	About wire.Discovery
}

// Service answers from the engine. It is safe for concurrent use.
//
// Large: it has one part for each kind of resource.
type Service struct {
	*environmentPart
	*typePart
	*actionPart
	*agentPart
	*resourcePart
	*versionPart
	*filePart
	*exportPart
	*comparisonPart
	*jobPart
	*parameterPart
	*statePart
	*graphPart
	*searchPart
	*orderPart
	*offerPart
	*previewPart

	about wire.Discovery
}

// The parts of a service; an alias names the field.
type (
	environmentPart = environments.Service
	typePart        = types.Service
	actionPart      = actions.Service
	agentPart       = agents.Service
	resourcePart    = resources.Service
	versionPart     = versions.Service
	filePart        = files.Service
	exportPart      = exports.Service
	comparisonPart  = comparisons.Service
	jobPart         = jobs.Service
	parameterPart   = parameters.Service
	statePart       = states.Service
	graphPart       = graphs.Service
	searchPart      = search.Service
	orderPart       = tenant.Orders
	offerPart       = services.Service
	previewPart     = previews.Service
)

// New returns a service.
func New(c Config) *Service {
	c.About.Name, c.About.API, c.About.OpenAPI = "southbound", "v1", "/openapi.json"
	c.About.Auth, c.About.Jobs = cmp.Or(c.About.Auth, wire.AuthNone), c.Jobs != nil
	if c.Agent == nil {
		c.Agent = transport.Check
	}
	env := &environments.Service{Engine: c.Engine, Notify: c.Changed, Waits: c.Waits,
		Audit: c.Audit, Caller: c.Caller, Stopping: c.Stopping}
	if c.Services != nil {
		c.Services = c.Services.WithAct(env.Act)
		env.Identity = c.Services.Identity
	}
	store := &results.Store{Files: c.Engine.Files}
	s := &Service{
		environmentPart: env,
		typePart:        &types.Service{Registry: c.Engine.Types},
		actionPart:      &actions.Service{Env: env},
		agentPart:       &agents.Service{Env: env, Unserved: c.Unserved, Unneeded: c.Unneeded},
		versionPart:     &versions.Service{Env: env, Results: store},
		filePart:        &files.Service{Files: c.Engine.Files, Sign: c.Sign},
		exportPart:      &exports.Service{Env: env, Agent: c.Agent},
		parameterPart:   &parameters.Service{Env: env, History: c.History},
		statePart:       &states.Service{Env: env},
		graphPart:       &graphs.Service{Env: env},
		orderPart:       &tenant.Orders{Services: c.Services},
		offerPart:       &services.Service{Env: env, Definitions: c.Definitions},
		about:           c.About,
	}
	s.resourcePart = &resources.Service{Env: env, AgentService: s.agentPart,
		ActionService: s.actionPart, ByCommands: c.ByCommands}
	s.comparisonPart = &comparisons.Service{Env: env, ExportService: s.exportPart,
		VersionService: s.versionPart, Results: store}
	s.jobPart = &jobs.Service{Env: env, Comparisons: s.comparisonPart, Jobs: c.Jobs,
		Start: c.Start, ByRunner: c.ByRunner, NotifyRunner: c.NotifyRunner}
	s.searchPart = &search.Service{Sources: search.Sources{Env: env, Resources: s.resourcePart,
		Agents: s.agentPart, Parameters: s.parameterPart, Versions: s.versionPart,
		Orders: s.orderPart}}
	s.previewPart = &previews.Service{OrderService: s.orderPart, OfferService: s.offerPart,
		Previews: c.Previews}
	return s
}

var _ Home = (*Service)(nil)
