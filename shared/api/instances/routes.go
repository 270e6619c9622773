package instances

import (
	"context"
	"net/http"
	"strings"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// Listing holds the parameters of a request for a list of instances.
//
// Large: it has a field for each parameter of the query.
type Listing struct {
	tenant.InTenant
	tenant.OfService
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
	if i.Service != tenant.AnyService {
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

// listed is the request for a list, with its address.
type listed struct {
	Listing
	paging.Linked
}

// Routes serves instances.
func Routes(r *server.Router, s *tenant.Orders, res resourceLister) {
	changeRoutes(r, s)
	historyRoutes(r, s, res)
	server.Register(r, http.MethodGet, tenant.InventoryPath, "instances", "Instances of a service",
		func(ctx context.Context, i *listed) (*server.Out[Instances], error) {
			o, err := s.Open()
			if err != nil {
				return nil, problem.Of(err)
			}
			page, err := o.List(ctx, i.Env, i.query())
			if err == nil && i.Progress {
				err = CountProgress(ctx, res, i.Env, page.Items)
			}
			links, m := paging.Around(&i.Linked, &page, i.query().Descending, i.Limit, i.WithCounts)
			return server.Answer(Instances{wire.OrEmpty(page.Items), links, m}, err)
		}, tenant.MarkServices)
	type oneIn struct {
		tenant.OfInstance
		Progress bool `query:"include_deployment_progress"`
	}
	tenant.Register(r, s, http.MethodGet, tenant.InstancePath, "instance", "An instance",
		func(ctx context.Context, o *orders.Service, i *oneIn) (orders.Instance, error) {
			one, err := o.Instance(ctx, i.Env, i.Ref())
			if err != nil || !i.Progress {
				return one, err
			}
			all := []orders.Instance{one}
			err = CountProgress(ctx, res, i.Env, all)
			return all[0], err
		})
	tenant.Register(r, s, http.MethodGet, "/lsm/v1/service_inventory", "instanceByID",
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
	tenant.InTenant
	ID       string `query:"service_id" required:"true" minLength:"1" maxLength:"4096" pattern:"^[^=]+$" doc:"the id"`
	Progress bool   `query:"include_deployment_progress"`
	Exclude  bool   `query:"exclude_read_only_attributes" doc:"omit attributes that only the model sets"`
	Referred bool   `query:"include_referenced_by" default:"true"`
	Metadata bool   `query:"include_metadata" default:"true"`
}

// partly returns the requested parts of an instance.
func partly(
	ctx context.Context, o *orders.Service, res resourceLister, i *byIDIn, one orders.Instance,
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
		if err := CountProgress(ctx, res, i.Env, all); err != nil {
			return one, err
		}
	}
	return all[0], nil
}

// wish returns the change that a request asks for. It requires a version, from the address or the
// body.
func wish(
	ctx context.Context, o Reader, i *tenant.OfInstance, query int64, body *int64, message *string,
) (orders.Wish, error) {
	w := orders.Wish{Ref: i.Ref()}
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
			WithHint("send the version that you have read, so that no concurrent change is lost")
	}
	if w.Version = body; body == nil {
		w.Version = &query
	}
	return w, nil
}
