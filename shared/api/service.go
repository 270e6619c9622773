package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/typefile"
	"southbound/shared/resource"
	"southbound/shared/schema"
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
	Sign func(ctx context.Context, hash string, size int64) (Upload, error)
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
	// Slice is how long one slice of work on a job takes; 0: 50 seconds.
	Slice time.Duration
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
	Unneeded func(ctx context.Context, env string, remove bool) ([]Pruned, error)
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
	Previews Previewer
	// About is the server's description of itself; name, api and openapi are filled in.
	About wire.Discovery
}

// Service answers from the engine: it has one part for each kind of resource. It is safe for
// concurrent use.
type Service struct {
	*environmentService
	*typeService
	*actionService
	*agentService
	*resourceService
	*versionService
	*fileService
	*exportService
	*comparisonService
	*jobService
	*parameterService
	*orderService
	*offerService
	*previewService

	results *resultStore
	about   wire.Discovery
}

type (
	environmentService struct {
		Engine *deploy.Engine
		// Notify, if not nil, is called when an environment may have new work.
		Notify func(env string)
		// Waits, if not nil, returns why agents of an environment are waited for, limited to agents
		// that this process serves.
		Waits func(env string) map[string]string
	}
	typeService   struct{ Registry *schema.Registry }
	actionService struct{ Env *environmentService }
	agentService  struct {
		Env *environmentService
		// Unserved, if not nil, returns the agents with work that no process does, and since how
		// long.
		Unserved func(ctx context.Context, env string) (map[string]time.Duration, error)
		// Unneeded, if not nil, implements Prune.
		Unneeded func(ctx context.Context, env string, remove bool) ([]Pruned, error)
	}
	resourceService struct {
		Env           *environmentService
		AgentService  *agentService
		ActionService *actionService
		// ByCommands reports that only commands of users do work, and no server.
		ByCommands bool
	}
	versionService struct {
		Env     *environmentService
		Results *resultStore
	}
	resultStore struct{ Files state.Files }
	fileService struct {
		Files state.Files
		// Sign, if not nil, returns requests that upload files directly to their store, so that
		// their bytes do not pass through the API.
		Sign func(ctx context.Context, hash string, size int64) (Upload, error)
	}
	exportService struct {
		Env *environmentService
		// Agent returns the problems of the description of an agent.
		Agent func(resource.Agent) []diag.Problem
	}
	comparisonService struct {
		Env            *environmentService
		ExportService  *exportService
		VersionService *versionService
		Results        *resultStore
	}
	// jobService stores and works on jobs.
	jobService struct {
		Env         *environmentService
		Comparisons *comparisonService
		// Jobs, if not nil, stores the records of jobs. Start calls Work for one, in this process
		// or in another, and does not wait for it. Without Jobs, requests for comparisons are
		// rejected.
		Jobs  state.Jobs
		Start func(ctx context.Context, env, id string) error
		// ByRunner, if not nil, reports whether only runners reach an agent: they read its things,
		// in parts of jobs. NotifyRunner notifies a runner of an agent about a waiting part; it is
		// called again if no runner takes the part.
		ByRunner     func(resource.Agent) bool
		NotifyRunner func(ctx context.Context, env, agent, part string) error
		// Slice is how long one slice of work on a job takes; 0: 50 seconds.
		Slice time.Duration
	}
	parameterService struct {
		Env *environmentService
		// History, if not nil, implements ParameterHistory.
		History func(ctx context.Context, env, name string) ([]state.ParameterChange, error)
	}
	orderService struct {
		// Services, if not nil, accepts orders of services.
		Services *orders.Service
	}
	offerService struct {
		Env *environmentService
		// Definitions, if not nil, stores the definitions of services.
		Definitions definition.Store
	}
	previewService struct {
		OrderService *orderService
		OfferService *offerService
		// Previews, if not nil, compiles the effect of orders and models.
		Previews Previewer
	}
)

// New returns a service.
func New(c Config) *Service {
	c.About.Name, c.About.API, c.About.OpenAPI = "southbound", "v1", "/openapi.json"
	c.About.Auth, c.About.Jobs = cmp.Or(c.About.Auth, wire.AuthNone), c.Jobs != nil
	if c.Agent == nil {
		c.Agent = transport.Check
	}
	env := &environmentService{Engine: c.Engine, Notify: c.Changed, Waits: c.Waits}
	results := &resultStore{Files: c.Engine.Files}
	s := &Service{
		environmentService: env,
		typeService:        &typeService{Registry: c.Engine.Types},
		actionService:      &actionService{Env: env},
		agentService:       &agentService{Env: env, Unserved: c.Unserved, Unneeded: c.Unneeded},
		versionService:     &versionService{Env: env, Results: results},
		fileService:        &fileService{Files: c.Engine.Files, Sign: c.Sign},
		exportService:      &exportService{Env: env, Agent: c.Agent},
		parameterService:   &parameterService{Env: env, History: c.History},
		orderService:       &orderService{Services: c.Services},
		offerService:       &offerService{Env: env, Definitions: c.Definitions},
		results:            results,
		about:              c.About,
	}
	s.resourceService = &resourceService{Env: env, AgentService: s.agentService,
		ActionService: s.actionService, ByCommands: c.ByCommands}
	s.comparisonService = &comparisonService{Env: env, ExportService: s.exportService,
		VersionService: s.versionService, Results: results}
	s.jobService = &jobService{Env: env, Comparisons: s.comparisonService, Jobs: c.Jobs,
		Start: c.Start, ByRunner: c.ByRunner, NotifyRunner: c.NotifyRunner, Slice: c.Slice}
	s.previewService = &previewService{OrderService: s.orderService, OfferService: s.offerService,
		Previews: c.Previews}
	return s
}

var _ Home = (*Service)(nil)

// changed reports that an environment may have new work.
func (s *environmentService) changed(env string) {
	if s.Notify != nil {
		s.Notify(env)
	}
}

// Progress implements Home.
func (s *environmentService) Progress(ctx context.Context, env string) (Progress, error) {
	p, err := s.Engine.Progress(ctx, env)
	if err != nil {
		return Progress{}, err
	}
	out := ProgressOf(env, p)
	if s.Waits != nil {
		out.Waiting = s.Waits(env)
	}
	return out, nil
}

// ProgressOf converts the engine's counters to those of the API.
func ProgressOf(env string, p deploy.Progress) Progress {
	out := Progress{Environment: env, Released: p.Env.Released, Last: p.Env.Last,
		Releasing: p.Env.Releasing, Halted: p.Env.Halted, Counts: p.Counts,
		Scheduled: p.Scheduled, Left: p.Left,
		Running: wire.OrEmpty(p.Running[:min(len(p.Running), maxRunning)]), RunningCount: len(p.Running),
		Interrupted: p.Interrupted[:min(len(p.Interrupted), maxRunning)],
		Lanes:       wire.OrEmpty(p.Lanes),
		Held:        sortedKeys(p.Held), Paused: sortedKeys(p.Paused), Outbox: p.Outbox,
		Applied: p.Env.Applied}
	if out.Counts == nil {
		out.Counts = map[state.Status]int{}
	}
	return out
}

func sortedKeys(m map[string]bool) []string { return wire.OrEmpty(slices.Sorted(maps.Keys(m))) }

// Resources implements Home.
func (s *resourceService) Resources(
	ctx context.Context, env string, filter []string, f func(*Resource) error,
) error {
	parsed, err := state.ParseFilter(filter)
	if err != nil {
		return err
	}
	claimed, err := s.Env.Engine.Claimed(ctx, env)
	if err != nil {
		return err
	}
	return s.Env.Engine.EachRow(ctx, env, parsed, func(r *state.Row) error {
		l := resourceOf(r, &claimed)
		if parsed.Status != "" && l.Status != parsed.Status {
			return nil
		}
		return f(&l)
	})
}

func resourceOf(r *state.Row, claimed *deploy.Claimed) Resource {
	l := Resource{ID: r.ID, Type: r.ID.Type(), Agent: r.ID.Agent(), Status: r.Status(),
		Compliance: r.Compliance, LastRun: r.LastRun, Blocked: r.Blocked,
		Deploying: claimed.Running[r.ID], Version: r.Version, Hash: r.Hash, Reason: r.Reason,
		LastAction: r.LastAction}
	if l.Deploying {
		l.Status = state.StatusDeploying
	}
	l.Interrupted = !l.Deploying && claimed.Interrupted[r.ID]
	if res, err := resource.Decode(r.Body); err == nil {
		l.Set = res.Set
		if l.Status == state.StatusUndefined {
			l.Parameter = missingParameter(res)
		}
	}
	return l
}

// missingParameter returns the parameter that the reason of an undefined resource names; "" if the
// reason names another value.
func missingParameter(res *resource.Resource) string {
	for _, ref := range resource.References(res.Attributes) {
		switch r := ref.(type) {
		case resource.Parameter:
			if _, is := r.Unknown(); is {
				return ""
			}
			return r.Name
		case resource.Fact:
			return ""
		}
	}
	return ""
}

// Resource implements Home.
func (s *resourceService) Resource(ctx context.Context, env string, id resource.ID) (Detail, error) {
	row, err := s.Env.Engine.Row(ctx, env, id)
	if err != nil {
		return Detail{}, err
	}
	claimed, err := s.Env.Engine.Claimed(ctx, env)
	if err != nil {
		return Detail{}, err
	}
	requires, dependants, err := s.Env.Engine.Neighbours(ctx, env, row.ID)
	if err != nil {
		return Detail{}, err
	}
	actions, err := s.ActionService.Actions(ctx, env, ActionQuery{Resource: row.ID, Limit: 1})
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Resource: resourceOf(&row, &claimed), Requires: wire.OrEmpty(requires),
		RequiredBy: wire.OrEmpty(dependants), Causes: wire.OrEmpty(row.Causes),
		NextAt: wire.TimeOrNil(row.NextAt), Attempts: row.Attempts}
	if len(actions) > 0 {
		d.Last = &actions[0]
	}
	seen, err := s.lastSeen(ctx, env, d.Last)
	if err != nil {
		return d, err
	}
	d.attributes(&row, seen)
	d.Waits, err = s.waitsFor(ctx, env, &row, requires, &claimed)
	return d, err
}

// Versions implements Home.
func (s *versionService) Versions(ctx context.Context, env string) ([]Version, error) {
	vs, state, err := s.Env.Engine.VersionsOf(ctx, env)
	if err != nil {
		return nil, err
	}
	out := make([]Version, len(vs))
	times := inForce(vs, state)
	for i := range vs {
		out[i] = versionOf(&vs[i], state.Released)
		out[i].InForce = wire.OrEmpty(times[vs[i].Number])
	}
	return out, nil
}

// inForce returns when each version was in force. A version comes into force when it is stored with
// a release, and when it is released later. The release of another version ends that period.
func inForce(vs []state.Version, env state.Env) map[int][]InForce {
	var all []state.Release
	for i := range vs {
		if v := &vs[i]; !v.Unreleased {
			all = append(all, state.Release{Version: v.Number, At: v.At, Author: v.Author,
				Message: v.Message})
		}
	}
	if env.Releases != nil {
		all = append(all, *env.Releases...)
	}
	slices.SortStableFunc(all, func(a, b state.Release) int { return a.At.Compare(b.At) })
	out := map[int][]InForce{}
	for i, r := range all {
		in := InForce{From: r.At.UTC(), By: r.Author, Message: r.Message}
		if i+1 < len(all) {
			to := all[i+1].At.UTC()
			in.To = &to
		}
		out[r.Version] = append(out[r.Version], in)
	}
	return out
}

func versionOf(v *state.Version, released int) Version {
	return Version{v.Number, v.At.UTC(), v.Resources, v.Number == released, v.Base > 0, v.Pack,
		v.Digest, Origin(v.Origin), []InForce{}}
}

// Agents implements Home.
func (s *agentService) Agents(ctx context.Context, env string) ([]Agent, error) {
	agents, err := s.Env.Engine.State.Agents(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	var unserved map[string]time.Duration
	if s.Unserved != nil {
		if unserved, err = s.Unserved(ctx, env); err != nil {
			return nil, fault.Wrap(fault.Unknown, "list agents that nobody serves", err)
		}
	}
	out := make([]Agent, 0, len(agents))
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		g := agents[name]
		out = append(out, Agent{name, g.Transport, max(g.Lanes, 1), g.Paused,
			unserved[name].Milliseconds()})
	}
	return out, nil
}

// Types implements Home.
func (s *typeService) Types(context.Context) ([]Type, error) { return TypesOf(s.Registry), nil }

// TypesOf describes all types of a registry.
func TypesOf(r *schema.Registry) []Type {
	var out []Type
	for _, name := range r.Names() {
		if t, ok := r.Type(name); ok {
			out = append(out, typeOf(t))
		}
	}
	return out
}

func typeOf(t *schema.Compiled) Type {
	l := Type{Name: t.Name, Description: t.Description, Features: wire.OrEmpty(t.Features),
		Providers: providersOf(t), Transports: t.Over(), Attributes: []Attribute{}}
	for _, at := range t.Attributes {
		l.Attributes = append(l.Attributes,
			Attribute{at.Name, at.Type, cmp.Or(string(at.Behaviour), "property"), at.Default,
				at.Description, at.Sensitive})
	}
	if text, err := typefile.JSON(&t.Type); err == nil {
		var compact bytes.Buffer
		if json.Compact(&compact, text) == nil {
			l.Declaration = compact.Bytes()
		}
	}
	return l
}

// providersOf returns the names of a type's providers.
func providersOf(t *schema.Compiled) []string {
	if len(t.Providers) > 0 {
		return t.Providers
	}
	return []string{"default"}
}
