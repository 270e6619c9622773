package api

import (
	"cmp"
	"context"
	"net/http"

	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/callbacks"
	"southbound/shared/api/environments"
	"southbound/shared/api/exports"
	"southbound/shared/api/files"
	"southbound/shared/api/graphs"
	"southbound/shared/api/instances"
	"southbound/shared/api/jobs"
	"southbound/shared/api/ordering"
	"southbound/shared/api/parameters"
	"southbound/shared/api/previews"
	"southbound/shared/api/problem"
	"southbound/shared/api/resources"
	"southbound/shared/api/results"
	"southbound/shared/api/search"
	"southbound/shared/api/server"
	"southbound/shared/api/services"
	"southbound/shared/api/states"
	"southbound/shared/api/types"
	"southbound/shared/api/versions"
	"southbound/shared/api/wire"
)

// Handler serves the API of a service. It authenticates no requests; see Guard.
func Handler(s *Service) http.Handler { return handler(s, true) }

// ExportHandler serves only what exports need: discovery, uploads, exports and plans.
func ExportHandler(s *Service) http.Handler { return handler(s, false) }

func handler(s *Service, all bool) http.Handler {
	about := s.about
	about.Jobs = about.Jobs && all
	r := server.New(cmp.Or(about.Version, "0"), schemaName)
	discoveryRoutes(r, about)
	files.Routes(r, s.filePart)
	exports.Routes(r, s.exportPart)
	results.Routes(r, s.versionPart.Results)
	jobs.PlanRoutes(r, s.jobPart)
	if all {
		environments.Routes(r, s.environmentPart)
		types.Routes(r, s.typePart)
		actions.Routes(r, s.actionPart)
		agents.Routes(r, s.agentPart)
		resources.Routes(r, s.resourcePart)
		graphs.Routes(r, s.graphPart)
		search.Routes(r, s.searchPart)
		versions.Routes(r, s.versionPart)
		parameters.Routes(r, s.parameterPart)
		states.Routes(r, s.statePart)
		parameters.PublicRoutes(r, s.parameterPart)
		services.Routes(r, s.offerPart)
		services.CatalogRoutes(r, s.orderPart, s.environmentPart)
		instances.Routes(r, s.orderPart, s.resourcePart)
		previews.Routes(r, s.previewPart)
		ordering.Routes(r, s.orderPart, s.environmentPart)
		callbacks.Routes(r, s.orderPart, s.environmentPart)
		jobs.WaitingRoutes(r, s.jobPart)
		if s.Jobs != nil {
			jobs.Routes(r, s.jobPart)
		}
	}
	describeAPI(r.API.OpenAPI(), s.about.Auth)
	return problem.ForPublicClients(identified(r.Handler()))
}

// identified rejects requests of callers that may only read, if they change something, and passes
// on the message of a request and the user for whom it is made.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, _ := wire.CallerOf(r.Context())
		if caller.ReadOnly && !wire.Safe(r.Method) {
			problem.Write(w, problem.WithStatus(http.StatusForbidden,
				problem.FailureOf(wire.ErrReadOnly())))
			return
		}
		if value := r.Header.Get(wire.MessageHeader); value != "" {
			message, err := wire.DecodeMessage(value)
			if err != nil {
				problem.Write(w, problem.WithStatus(http.StatusUnprocessableEntity,
					problem.FailureOf(err)))
				return
			}
			r = r.WithContext(wire.WithMessage(r.Context(), message))
		}
		if value := r.Header.Get(wire.UserHeader); value != "" {
			user, err := wire.OnBehalf(caller, value)
			if err != nil {
				problem.Write(w, problem.WithStatus(http.StatusUnprocessableEntity,
					problem.FailureOf(err)))
				return
			}
			r = r.WithContext(wire.WithCaller(r.Context(), user))
		}
		next.ServeHTTP(w, r)
	})
}

func discoveryRoutes(r *server.Router, about wire.Discovery) {
	server.Register(r, http.MethodGet, "/{$}", "discover", "Describe this program",
		func(ctx context.Context, _ *struct{}) (*server.Out[wire.Discovery], error) {
			about := about
			if caller, known := wire.CallerOf(ctx); known {
				about.User, about.ReadOnly = caller.User, caller.ReadOnly
			}
			return server.Answer(about, nil)
		})
}
