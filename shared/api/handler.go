package api

import (
	"cmp"
	"context"
	"net/http"

	"southbound/shared/api/server"
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
	fileRoutes(r, s.fileService)
	exportRoutes(r, s.exportService)
	resultRoutes(r, s.results)
	planRoutes(r, s.jobService)
	if all {
		environmentRoutes(r, s.environmentService)
		typeRoutes(r, s.typeService)
		actionRoutes(r, s.actionService)
		agentRoutes(r, s.agentService)
		resourceRoutes(r, s.resourceService)
		versionRoutes(r, s.versionService)
		parameterRoutes(r, s.parameterService)
		publicParameterRoutes(r, s.parameterService)
		offerRoutes(r, s.offerService)
		catalogRoutes(r, s.orderService, s.environmentService)
		instanceRoutes(r, s.orderService, s.resourceService)
		previewRoutes(r, s.previewService)
		orderRoutes(r, s.orderService, s.environmentService)
		callbackRoutes(r, s.orderService, s.environmentService)
		comparisonRoutes(r, s.jobService)
		if s.Jobs != nil {
			jobRoutes(r, s.jobService)
		}
	}
	describeAPI(r.API.OpenAPI(), s.about.Auth)
	return r.Handler()
}

func discoveryRoutes(r *server.Router, about wire.Discovery) {
	server.Register(r, http.MethodGet, "/{$}", "discover", "What this is",
		func(context.Context, *struct{}) (*server.Out[wire.Discovery], error) {
			return server.Answer(about, nil)
		})
}
