package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// The bounds of bodies of requests about services. Longer bodies are rejected before parsing.
const (
	besideAttributes = 8 << 10 // all members but attributes
	maxOrder         = inventory.MaxAttributes + besideAttributes
	maxMigration     = 3*inventory.MaxAttributes + besideAttributes // three sets of attributes
	maxOrders        = inventory.MaxOrder + besideAttributes        // several instances
)

// longerBody raises the size limit of an operation's body.
func longerBody(bytes int64) func(*huma.Operation) {
	return func(op *huma.Operation) { op.MaxBodyBytes = bytes }
}

// AnyService stands for the name of a service in requests that name an instance by its id.
const AnyService = "-"

// InTenant holds the parameters of every request about services.
type InTenant struct {
	Env string `header:"X-Inmanta-tid" required:"true" pattern:"^[A-Za-z0-9_-]{1,100}$" patternDescription:"1 to 100 letters, digits, - and _" doc:"the environment"`
}

// OfService names a service.
type OfService struct {
	Service string `path:"service_entity" minLength:"1" maxLength:"255" doc:"the service"`
}

// OfInstance names an instance.
type OfInstance struct {
	InTenant
	OfService
	ID string `path:"service_id" minLength:"1" maxLength:"4096" doc:"an id, or identity=VALUE; with an id the service may be -"`
}

func (i *OfInstance) ref() orders.Ref {
	if i.Service == AnyService {
		return orders.Ref{ID: i.ID}
	}
	return orders.Ref{Service: i.Service, ID: i.ID}
}

// Seen is the version that the caller has seen.
type Seen struct {
	Version int64 `query:"current_version" minimum:"1" doc:"version of the instance that the caller has seen"`
}

// about marks an operation as one of services.
func about(op *huma.Operation) {
	op.MaxBodyBytes, op.Tags = maxOrder, []string{server.ServicesTag}
}

// ordering registers an operation on services.
func ordering[I, T any](
	r *server.Router, s *orderService, method, path, id, summary string,
	f func(context.Context, *orders.Service, *I) (T, error), change ...func(*huma.Operation),
) {
	server.Register(r, method, path, id, summary,
		func(ctx context.Context, i *I) (*server.Out[client.Data[T]], error) {
			o, err := s.open()
			if err != nil {
				return nil, problem.Of(err)
			}
			v, err := f(ctx, o, i)
			return server.Answer(client.Data[T]{Data: v}, err)
		}, append([]func(*huma.Operation){about}, change...)...)
}

type catalogIn struct {
	InTenant
	Summary bool `query:"instance_summary" doc:"count the instances"`
}

type offerIn struct {
	InTenant
	OfService
	Summary bool `query:"instance_summary" doc:"count the instances"`
}

type versionIn struct {
	InTenant
	OfService
	Version int `path:"version" minimum:"0" maximum:"2147483647"`
}

// catalogRoutes serves the services that can be ordered.
func catalogRoutes(r *server.Router, s *orderService, env *environmentService) {
	notOfferedRoutes(r, s)
	rolloutRoutes(r, s)
	for _, v := range []string{"1", "2"} {
		base := "/lsm/v" + v + "/service_catalog"
		ordering(r, s, http.MethodGet, base, "catalogV"+v, "Services that can be ordered",
			func(ctx context.Context, o *orders.Service, i *catalogIn) ([]orders.Offer, error) {
				all, err := o.Catalog(ctx, i.Env, v == "2", i.Summary)
				return all, env.known(ctx, i.Env, len(all), err)
			})
		ordering(r, s, http.MethodGet, base+"/{service_entity}", "serviceV"+v, "A service",
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
			o, err := s.open()
			if err != nil {
				return nil, problem.Of(err)
			}
			all, err := o.Catalog(ctx, i.Env, false, false)
			err = env.known(ctx, i.Env, len(all), err)
			services := make([]definition.Service, len(all))
			for n := range all {
				services[n] = all[n].Service
			}
			return server.Answer(definition.Docs(i.Env, services), err)
		}, about)
	one := "/lsm/v2/service_catalog/{service_entity}/{version}"
	ordering(r, s, http.MethodGet, one, "serviceVersion", "A version of a service",
		func(ctx context.Context, o *orders.Service, i *versionIn) (orders.Offer, error) {
			return o.Offer(ctx, i.Env, i.Service, i.Version, false)
		})
	ordering(
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
func notOfferedRoutes(r *server.Router, s *orderService) {
	const settings = "/lsm/v1/service_catalog/{service_entity}/config"
	type serviceIn struct {
		InTenant
		OfService
	}
	ordering(r, s, http.MethodGet, settings, "serviceConfig",
		"Settings of a service: there are none, as they are those of its instances",
		func(ctx context.Context, o *orders.Service, i *serviceIn) (map[string]bool, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, -1, false)
			return d.Config, err
		})
	ordering(r, s, http.MethodGet, "/lsm/v2/service_catalog/{service_entity}/{version}/config",
		"serviceVersionConfig", "Settings of a version of a service: as in v1",
		func(ctx context.Context, o *orders.Service, i *versionIn) (map[string]bool, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, i.Version, false)
			return d.Config, err
		})
	type configIn struct {
		InTenant
		OfService
		Body ConfigBody
	}
	ordering(r, s, http.MethodPost, settings, "configureService",
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
	ordering(r, s, http.MethodGet, "/lsm/v1/service_catalog/{service_entity}/schema",
		"defaultSchema", "A JSON Schema for orders of a service",
		func(ctx context.Context, o *orders.Service, i *serviceIn) (map[string]any, error) {
			d, err := o.Offer(ctx, i.Env, i.Service, -1, false)
			return d.Schema(), err
		})
	ordering(r, s, http.MethodDelete, "/lsm/v1/service_catalog/{service_entity}", "deleteService",
		"Not offered: see the error",
		func(ctx context.Context, o *orders.Service, i *serviceIn) (map[string]any, error) {
			if _, err := o.Offer(ctx, i.Env, i.Service, -1, false); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.Unsupported, "delete "+i.Service,
				"the services are those of the model that was exported last").
				WithHint("take its binding out of the model, and run `southbound service export PATH`")
		})
	ordering(r, s, http.MethodPost, "/lsm/v1/exporter/export_service_definition",
		"exportServiceDefinition", "Not offered: see the error",
		func(context.Context, *orders.Service, *InTenant) (map[string]any, error) {
			return nil, fault.New(fault.Unsupported, "export a definition",
				"a definition alone is not offered: orders are compiled with the model that "+
					"it is from").
				WithHint(
					"`southbound service export PATH --api URL` offers the services of a model, " +
						"and stores the model with them")
		})
}

// Listing holds the parameters of a request for a list of instances.
//
// Large: it has a field for each parameter of the query.
type Listing struct {
	InTenant
	OfService
	paging.ByCreation
	paging.WithCounts
	Limit      int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"number of instances of a page; a page may have fewer"`
	Sort       string   `query:"sort" pattern:"^(created_at|last_updated|state|service_identity_attribute_value|id)(\\.(asc|desc))?$"`
	Progress   bool     `query:"include_deployment_progress"`
	Deleted    bool     `query:"include_deleted" doc:"list deleted instances, too"`
	States     []string `query:"filter.state,explode" maxItems:"50" nullable:"false" doc:"any of these"`
	Only       bool     `query:"filter.deleted" doc:"list deleted instances alone"`
	ID         string   `query:"filter.id" maxLength:"255"`
	Identity   string   `query:"filter.service_identity_attribute_value" maxLength:"4096"`
	Name       string   `query:"filter.id_or_service_identity" maxLength:"4096" doc:"a part of an id or an identity"`
	Attributes []string `query:"filter.attribute,explode" maxItems:"20" nullable:"false" pattern:"^[^=]+=" doc:"NAME=VALUE; all must match"`
	Empty      []string `query:"filter.attribute_set_empty,explode" maxItems:"3" nullable:"false" enum:"candidate,active,rollback"`
	NotEmpty   []string `query:"filter.attribute_set_not_empty,explode" maxItems:"3" nullable:"false" enum:"candidate,active,rollback"`
}

// query returns the query that the parameters define.
func (i *Listing) query() orders.Query {
	q := orders.Query{Bytes: paging.MaxBytes}
	q.Sort, q.Descending = paging.Descending(i.Sort, false)
	q.Place = paging.PlaceOf(&i.ByCreation, q.Descending, i.Limit, i.WithCounts)
	q.Filter = orders.Filter{
		States: i.States, ID: i.ID, Identity: i.Identity, Name: i.Name, Empty: i.Empty,
		NotEmpty: i.NotEmpty, Attributes: map[string]string{},
	}
	if i.Service != AnyService {
		q.Service = i.Service
	}
	for _, text := range i.Attributes {
		name, value, _ := strings.Cut(text, "=")
		q.Attributes[name] = value
	}
	switch {
	case i.Only:
		q.Deleted = orders.OnlyDeleted
	case i.Deleted:
		q.Deleted = orders.WithDeleted
	}
	return q
}

// Instances is a page of instances.
type Instances struct {
	Data     []orders.Instance   `json:"data"`
	Links    paging.Links        `json:"links"`
	Metadata paging.ListMetadata `json:"metadata"`
}

const (
	inventoryPath = "/lsm/v1/service_inventory/{service_entity}"
	instancePath  = inventoryPath + "/{service_id}"
)

// listed is the request for a list, with its address.
type listed struct {
	Listing
	paging.Linked
}

// instanceRoutes serves instances.
func instanceRoutes(r *server.Router, s *orderService, res resourceLister) {
	instanceChangeRoutes(r, s)
	instanceHistoryRoutes(r, s, res)
	server.Register(r, http.MethodGet, inventoryPath, "instances", "Instances of a service",
		func(ctx context.Context, i *listed) (*server.Out[Instances], error) {
			o, err := s.open()
			if err != nil {
				return nil, problem.Of(err)
			}
			page, err := o.List(ctx, i.Env, i.query())
			if err == nil && i.Progress {
				err = progressOf(ctx, res, i.Env, page.Items)
			}
			links, m := paging.Around(&i.Linked, &page, i.query().Descending, i.Limit, i.WithCounts)
			return server.Answer(Instances{wire.OrEmpty(page.Items), links, m}, err)
		}, about)
	type oneIn struct {
		OfInstance
		Progress bool `query:"include_deployment_progress"`
	}
	ordering(r, s, http.MethodGet, instancePath, "instance", "An instance",
		func(ctx context.Context, o *orders.Service, i *oneIn) (orders.Instance, error) {
			one, err := o.Instance(ctx, i.Env, i.ref())
			if err != nil || !i.Progress {
				return one, err
			}
			all := []orders.Instance{one}
			err = progressOf(ctx, res, i.Env, all)
			return all[0], err
		})
	ordering(r, s, http.MethodGet, "/lsm/v1/service_inventory", "instanceByID",
		"An instance, by its id alone",
		func(ctx context.Context, o *orders.Service, i *byIDIn) (orders.Instance, error) {
			one, err := o.Instance(ctx, i.Env, orders.Ref{ID: i.ID})
			if err != nil {
				return one, err
			}
			return partly(ctx, o, res, i, one)
		})
}

// byIDIn requests an instance by its id alone, and parts of it.
type byIDIn struct {
	InTenant
	ID       string `query:"service_id" required:"true" minLength:"1" maxLength:"4096" pattern:"^[^=]+$" doc:"the id"`
	Progress bool   `query:"include_deployment_progress"`
	Exclude  bool   `query:"exclude_read_only_attributes" doc:"omit attributes that only the model sets"`
	Referred bool   `query:"include_referenced_by" default:"true"`
	Metadata bool   `query:"include_metadata" default:"true"`
}

// partly returns the requested parts of an instance.
func partly(
	ctx context.Context, o CatalogPort, res resourceLister, i *byIDIn, one orders.Instance,
) (orders.Instance, error) {
	if i.Exclude {
		d, err := o.Offer(ctx, i.Env, one.Service, one.ServiceVersion, false)
		if err != nil {
			return one, err
		}
		for _, set := range []*orders.Attributes{&one.Candidate, &one.Active, &one.Rollback} {
			*set = inventory.Writable(&d.Service, *set)
		}
	}
	if !i.Referred {
		one.ReferredBy = nil
	}
	if !i.Metadata {
		one.Metadata = map[string]string{}
	}
	all := []orders.Instance{one}
	if i.Progress {
		if err := progressOf(ctx, res, i.Env, all); err != nil {
			return one, err
		}
	}
	return all[0], nil
}

// wish returns the change that a request asks for. It requires a version, from the address or the
// body.
func wish(
	ctx context.Context, o InstanceReader, i *OfInstance, query int64, body *int64, message *string,
) (orders.Wish, error) {
	w := orders.Wish{Ref: i.ref()}
	if message != nil {
		w.Message = *message
	}
	other := body != nil && query != 0 && *body != query
	if other || body == nil && query == 0 {
		if _, err := o.Instance(ctx, i.Env, w.Ref); err != nil {
			return w, err
		}
		if other {
			return w, fault.New(fault.Invalid, "",
				"current_version is %d in the address, and %d in the body", query, *body)
		}
		return w, fault.New(fault.Invalid, "", "current_version is missing").
			WithHint("give the version that you have seen, so that no change of others is lost")
	}
	if w.Version = body; body == nil {
		w.Version = &query
	}
	return w, nil
}

// schemaName names the schemas of types from packages of services, whose names other packages also
// have.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	for path, prefix := range map[string]string{
		"southbound/shared/service/definition": "Definition",
		"southbound/shared/service/lifecycle":  "Lifecycle",
		"southbound/shared/service/orders":     "Ordered",
	} {
		if t.PkgPath() == path {
			return prefix + name
		}
	}
	return name
}

// mayBeNull declares the members of answers about services that are null if they have no value.
func mayBeNull(schemas map[string]*huma.Schema) {
	for name, members := range map[string]string{
		"OrderedInstance": "candidate_attributes active_attributes rollback_attributes " +
			"referenced_by",
		"OrderedLogEntry":     "candidate_attributes active_attributes rollback_attributes",
		"LifecycleTransfer":   "error config_name target_operation error_operation",
		"DefinitionAttribute": "validation_parameters",
		"OrderItemBody":       "attributes metadata config",
		"CreationBody":        "metadata config",
		"OrderedCallback":     "event_types",
		"ReplacementBody":     "ignore_read_only_attributes",
		"MigrationBody":       "candidate_attributes active_attributes rollback_attributes",
		"SuggestedBody":       "values",
		"LifecycleState": "validate_self validate_others previous_attr_set_on_validate " +
			"previous_attr_set_on_export",
	} {
		s := schemas[name]
		if s == nil { // only exports are served
			continue
		}
		for m := range strings.FieldsSeq(members) {
			s.Properties[m].Nullable = true
		}
	}
	for name, member := range map[string]string{
		"OrderedInstance": "deployment_progress", "OrderedOffer": "instance_summary",
	} {
		if s := schemas[name]; s != nil {
			s.Properties[member] = &huma.Schema{
				AnyOf: []*huma.Schema{s.Properties[member], {Type: "null"}},
			}
		}
	}
	for _, name := range []string{"SettingBody", "SettingItem"} {
		if s := schemas[name]; s != nil { // null as a second type would allow any value
			metadata := *schemas["SuggestedBody"]
			metadata.Nullable = true
			s.Properties["metadata"] = &metadata
		}
	}
}
