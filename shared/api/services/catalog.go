package services

import (
	"context"
	"net/http"

	"southbound/shared/api/environments"
	"southbound/shared/api/instances"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

type catalogIn struct {
	tenant.InTenant
	Summary bool `query:"instance_summary" doc:"count the instances"`
}

type offerIn struct {
	tenant.InTenant
	tenant.OfService
	Summary bool `query:"instance_summary" doc:"count the instances"`
}

type versionIn struct {
	tenant.InTenant
	tenant.OfService
	Version int `path:"version" minimum:"0" maximum:"2147483647"`
}

// CatalogRoutes serves the services that can be ordered.
func CatalogRoutes(r *server.Router, s *tenant.Orders, env *environments.Service) {
	notOfferedRoutes(r, s)
	rolloutRoutes(r, s)
	for _, v := range []string{"1", "2"} {
		base := "/lsm/v" + v + "/service_catalog"
		tenant.Register(r, s, http.MethodGet, base, "catalogV"+v, "Services that can be ordered",
			func(ctx context.Context, o *orders.Service, i *catalogIn) ([]orders.Offer, error) {
				all, err := o.Catalog(ctx, i.Env, v == "2", i.Summary)
				return all, env.CheckFound(ctx, i.Env, len(all), err)
			})
		tenant.Register(r, s, http.MethodGet, base+"/{service_entity}", "serviceV"+v, "A service",
			func(ctx context.Context, o *orders.Service, i *offerIn) (orders.Offer, error) {
				return o.Offer(ctx, i.Env, i.Service, -1, i.Summary)
			})
	}
	type docsIn struct {
		Env string `query:"environment" required:"true" pattern:"^[A-Za-z0-9_-]{1,100}$" patternDescription:"1 to 100 letters, digits, - and _"`
	}
	server.Register(r, http.MethodGet, "/lsm/v1/service_catalog_docs", "catalogDocs",
		"An OpenAPI description of the services that can be ordered",
		func(ctx context.Context, i *docsIn) (*server.Out[map[string]any], error) {
			o, err := s.Open()
			if err != nil {
				return nil, problem.Of(err)
			}
			all, err := o.Catalog(ctx, i.Env, false, false)
			err = env.CheckFound(ctx, i.Env, len(all), err)
			services := make([]definition.Service, len(all))
			for n := range all {
				services[n] = all[n].Service
			}
			return server.Answer(definition.Docs(i.Env, services), err)
		}, tenant.MarkServices)
	one := "/lsm/v2/service_catalog/{service_entity}/{version}"
	tenant.Register(r, s, http.MethodGet, one, "serviceVersion", "A version of a service",
		func(ctx context.Context, o *orders.Service, i *versionIn) (orders.Offer, error) {
			return o.Offer(ctx, i.Env, i.Service, i.Version, false)
		})
	tenant.Register(
		r,
		s,
		http.MethodGet,
		one+"/schema",
		"serviceSchema",
		"A JSON Schema for orders of a service",
		func(ctx context.Context, o *orders.Service, i *versionIn) (map[string]any, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, i.Version, false)
			return d.Schema(), err
		},
	)
}

// notOfferedRoutes answers operations of the peer that do not exist here: the error names the
// alternative. The parameters and bodies of these requests are ignored.
func notOfferedRoutes(r *server.Router, s *tenant.Orders) {
	const settings = "/lsm/v1/service_catalog/{service_entity}/config"
	type serviceIn struct {
		tenant.InTenant
		tenant.OfService
	}
	tenant.Register(r, s, http.MethodGet, settings, "serviceConfig",
		"Settings of a service: there are none, as they are those of its instances",
		func(ctx context.Context, o *orders.Service, i *serviceIn) (map[string]bool, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, -1, false)
			return d.Config, err
		})
	tenant.Register(r, s, http.MethodGet,
		"/lsm/v2/service_catalog/{service_entity}/{version}/config",
		"serviceVersionConfig", "Settings of a version of a service: as in v1",
		func(ctx context.Context, o *orders.Service, i *versionIn) (map[string]bool, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, i.Version, false)
			return d.Config, err
		})
	type configIn struct {
		tenant.InTenant
		tenant.OfService
		Body instances.ConfigBody
	}
	tenant.Register(r, s, http.MethodPost, settings, "configureService",
		"No settings are offered but those of instances: see the error",
		func(ctx context.Context, o *orders.Service, i *configIn) (map[string]bool, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, -1, false)
			if err != nil || len(i.Body.Values) == 0 {
				return d.Config, err
			}
			return nil, fault.New(fault.Unsupported, "configure "+i.Service,
				"a service has no settings: instances have, each its own").
				WithHint(
					"give `config` with an order, or POST …/service_inventory/SERVICE/ID/config")
		})
	tenant.Register(r, s, http.MethodGet, "/lsm/v1/service_catalog/{service_entity}/schema",
		"defaultSchema", "A JSON Schema for orders of a service",
		func(ctx context.Context, o *orders.Service, i *serviceIn) (map[string]any, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, -1, false)
			return d.Schema(), err
		})
	tenant.Register(r, s, http.MethodDelete, "/lsm/v1/service_catalog/{service_entity}",
		"deleteService",
		"Not offered: see the error",
		func(ctx context.Context, o *orders.Service, i *serviceIn) (map[string]any, error) {
			if _, err := o.Offer(ctx, i.Env, i.Service, -1, false); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.Unsupported, "delete "+i.Service,
				"the services are those of the model that was exported last").
				WithHint("take its binding out of the model, and run `southbound service export PATH`")
		})
	tenant.Register(r, s, http.MethodPost, "/lsm/v1/exporter/export_service_definition",
		"exportServiceDefinition", "Not offered: see the error",
		func(context.Context, *orders.Service, *tenant.InTenant) (map[string]any, error) {
			return nil, fault.New(fault.Unsupported, "export a definition",
				"a definition alone is not offered: orders are compiled with the model that "+
					"it is from").
				WithHint(
					"`southbound service export PATH --api URL` offers the services of a model, " +
						"and stores the model with them")
		})
}
