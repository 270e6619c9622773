package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

// value is any value of JSON, with its numbers in their written form.
type value struct{ v any }

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(&v.v) // the reader of the body adds the position
}

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) {
	return json.Marshal(v.v) // the writer of the body adds the position
}

// Schema implements huma.SchemaProvider.
func (value) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

type eventsIn struct {
	OfInstance
	paging.Linked
	paging.ByNumber
	paging.WithCounts
	Limit        int      `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	Sort         string   `query:"sort" pattern:"^timestamp(\\.(asc|desc))?$" doc:"order: newest first, or timestamp.asc"`
	Sources      []string `query:"filter.source,explode" maxItems:"50" nullable:"false" doc:"any of these"`
	Destinations []string `query:"filter.destination,explode" maxItems:"50" nullable:"false" doc:"any of these"`
	Types        []string `query:"filter.event_type,explode" maxItems:"50" nullable:"false" doc:"any of these"`
	Versions     []string `query:"filter.version,explode" maxItems:"10" nullable:"false" pattern:"^((ge:|gt:|le:|lt:)?[0-9]{1,18})?$" patternDescription:"a version, or ge:, gt:, le: or lt: in front of one" doc:"all of these"`
	Times        []string `query:"filter.timestamp,explode" maxItems:"10" nullable:"false" maxLength:"64" pattern:"^((ge:|gt:|le:|lt:)?[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T+ ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?)?$" patternDescription:"a time, or ge:, gt:, le: or lt: in front of one" doc:"all of these, such as ge:2026-05-01+12:00:00"`
}

// query returns the query that the parameters define.
func (i *eventsIn) query() orders.EventQuery {
	_, descending := paging.Descending(cmp.Or(i.Sort, "timestamp.desc"), true)
	return orders.EventQuery{
		Place:      paging.PlaceOf(&i.ByNumber, descending, i.Limit, i.WithCounts),
		Descending: descending, Sources: i.Sources, Destinations: i.Destinations,
		Types: i.Types, Versions: i.Versions, Times: i.Times,
	}
}

type logIn struct {
	OfInstance
	paging.Linked
	paging.ByNumber
	paging.WithCounts
	Limit    int      `query:"limit" minimum:"1" maximum:"100" default:"100"`
	Sort     string   `query:"sort" pattern:"^version(\\.(asc|desc))?$" doc:"order: newest first, or version.asc"`
	Versions []string `query:"filter.version,explode" maxItems:"10" nullable:"false" pattern:"^((ge:|gt:|le:|lt:)?[0-9]{1,18})?$" patternDescription:"a version, or ge:, gt:, le: or lt: in front of one" doc:"all of these"`
}

// query returns the query that the parameters define.
func (i *logIn) query() orders.LogQuery {
	_, descending := paging.Descending(cmp.Or(i.Sort, "version.desc"), true)
	return orders.LogQuery{
		Place:      paging.PlaceOf(&i.ByNumber, descending, i.Limit, i.WithCounts),
		Descending: descending, Versions: i.Versions,
	}
}

// InstanceEvents is a page of events.
type InstanceEvents struct {
	Data     []orders.Event      `json:"data"`
	Links    paging.Links        `json:"links"`
	Metadata paging.ListMetadata `json:"metadata"`
}

// InstanceLog is a page of versions of an instance.
type InstanceLog struct {
	Data     []orders.LogEntry   `json:"data"`
	Links    paging.Links        `json:"links"`
	Metadata paging.ListMetadata `json:"metadata"`
}

// instanceHistoryRoutes serves the events and versions of an instance.
func instanceHistoryRoutes(r *server.Router, s *orderService, res resourceLister) {
	server.Register(r, http.MethodGet, instancePath+"/events", "instanceEvents",
		"Events of an instance, newest first",
		func(ctx context.Context, i *eventsIn) (*server.Out[InstanceEvents], error) {
			o, err := s.open()
			if err != nil {
				return nil, problem.Of(err)
			}
			q := i.query()
			page, err := o.Events(ctx, i.Env, i.ref(), q)
			links, m := paging.Around(&i.Linked, &page, q.Descending, i.Limit, i.WithCounts)
			return server.Answer(InstanceEvents{wire.OrEmpty(page.Items), links, m}, err)
		}, about)
	server.Register(r, http.MethodGet, instancePath+"/log", "instanceLog",
		"An instance at its versions, the newest first",
		func(ctx context.Context, i *logIn) (*server.Out[InstanceLog], error) {
			o, err := s.open()
			if err != nil {
				return nil, problem.Of(err)
			}
			q := i.query()
			page, err := o.Log(ctx, i.Env, i.ref(), q)
			links, m := paging.Around(&i.Linked, &page, q.Descending, i.Limit, i.WithCounts)
			return server.Answer(InstanceLog{wire.OrEmpty(page.Items), links, m}, err)
		}, about)
	instanceHealthRoutes(r, s, res)
}

// instanceHealthRoutes serves the resources of an instance, and its problems.
func instanceHealthRoutes(r *server.Router, s *orderService, res resourceLister) {
	type resourcesIn struct {
		OfInstance
		Seen
	}
	ordering(r, s, http.MethodGet, instancePath+"/resources", "instanceResources",
		"The resources of an instance, and those that it follows",
		func(ctx context.Context, o *orders.Service, i *resourcesIn) ([]InstanceResource, error) {
			one, err := o.Instance(ctx, i.Env, i.ref())
			if err != nil {
				return []InstanceResource{}, err
			}
			if v := i.Seen.Version; v != 0 && v != one.Version {
				return []InstanceResource{}, fault.New(fault.Conflict, "",
					"the instance has the version %d, and not %d", one.Version, v).
					WithHint("read it again, or leave current_version out")
			}
			return InstanceResources(ctx, res, i.Env, &one)
		})
	ordering(r, s, http.MethodGet, instancePath+"/diagnose", "diagnoseInstance",
		"Why an instance is not well",
		func(ctx context.Context, o *orders.Service, i *diagnosing) (Diagnosis, error) {
			one, err := o.Instance(ctx, i.Env, i.ref())
			if err != nil {
				return Diagnosis{}, err
			}
			d, err := Diagnose(ctx, res, o, i.Env, &one)
			d.Rejections = slices.DeleteFunc(d.Rejections, func(r Rejection) bool {
				return !i.looksAt(r.Version, one.Version)
			})
			return d, err
		})
}

// diagnosing requests why an instance is unhealthy.
type diagnosing struct {
	OfInstance
	Version    int64 `query:"version" minimum:"1" doc:"rejections up to this version; absent: of all versions"`
	Rejections int64 `query:"rejection_lookbehind" minimum:"-1" default:"-1" doc:"number of versions before the last one to search; -1: all"`
	Failures   int64 `query:"failure_lookbehind" minimum:"0" doc:"accepted and ignored: failures are always current"`
}

// looksAt reports whether the request asks for rejections of a version.
func (d *diagnosing) looksAt(version, last int64) bool {
	last = cmp.Or(d.Version, last)
	return version <= last && (d.Rejections < 0 || version >= last-d.Rejections)
}

// OrderBody requests several changes in one order.
type OrderBody struct {
	nulls
	Items       []OrderItemBody `json:"service_order_items" minItems:"1" maxItems:"12"`
	Description *string         `json:"description,omitempty" maxLength:"4096" nullable:"true"`
	ID          *string         `json:"order_id,omitempty" format:"uuid" pattern:"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" nullable:"true" doc:"id of the order: an order with the same id is placed once"`
}

// OrderItemBody is one change of an order.
type OrderItemBody struct {
	Instance   *string           `json:"instance_id,omitempty" maxLength:"4096" nullable:"true" doc:"for a new instance: a UUID, or a name that relations of other items use"`
	Service    string            `json:"service_entity" minLength:"1" maxLength:"255"`
	Action     orders.Action     `json:"action" enum:"create,update,delete"`
	Version    *int64            `json:"current_version,omitempty" minimum:"1" nullable:"true" doc:"expected version; null: any"`
	Attributes orders.Attributes `json:"attributes,omitempty"`
	Edits      []EditBody        `json:"edits,omitempty" nullable:"true" maxItems:"1000"`
	Metadata   map[string]string `json:"metadata,omitempty" maxProperties:"100"`
	Config     map[string]bool   `json:"config,omitempty" maxProperties:"100"`
}

// orderRoutes serves orders of several changes.
func orderRoutes(r *server.Router, s *orderService, env *environmentService) {
	type orderIn struct {
		InTenant
		Body OrderBody
	}
	const path = "/lsm/v2/order"
	ordering(r, s, http.MethodPost, path, "order", "Order, change and delete several instances",
		func(ctx context.Context, o *orders.Service, i *orderIn) (orders.Placed, error) {
			return o.Order(ctx, i.Env, i.Body.Order())
		}, longerBody(maxOrders))
	type placedIn struct {
		InTenant
		ID string `path:"order_id" minLength:"1" maxLength:"255" doc:"of the order"`
	}
	ordering(r, s, http.MethodGet, path+"/{order_id}", "placedOrder",
		"An order and its result",
		func(ctx context.Context, o *orders.Service, i *placedIn) (orders.Placed, error) {
			return o.PlacedOrder(ctx, i.Env, i.ID)
		})
	server.Register(r, http.MethodGet, path, "placedOrders", "Orders and their results",
		func(ctx context.Context, i *ordersIn) (*server.Out[PlacedOrders], error) {
			o, err := s.open()
			if err != nil {
				return nil, problem.Of(err)
			}
			_, descending := paging.Descending(cmp.Or(i.Sort, "created_at.desc"), true)
			q := orders.OrderQuery{
				Place:      paging.PlaceOf(&i.ByTime, descending, i.Limit, i.WithCounts),
				Descending: descending,
			}
			page, err := o.PlacedOrders(ctx, i.Env, q)
			err = env.known(ctx, i.Env, len(page.Items), err)
			links, m := paging.Around(&i.Linked, &page, descending, i.Limit, i.WithCounts)
			return server.Answer(PlacedOrders{wire.OrEmpty(page.Items), links, m}, err)
		}, about)
}

// ordersIn requests orders.
type ordersIn struct {
	InTenant
	paging.Linked
	paging.ByTime
	paging.WithCounts
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"number of orders of a page"`
	Sort  string `query:"sort" pattern:"^created_at(\\.(asc|desc))?$" doc:"order: newest first, or created_at.asc"`
}

// PlacedOrders is a page of orders.
type PlacedOrders struct {
	Data     []orders.Placed     `json:"data"`
	Links    paging.Links        `json:"links"`
	Metadata paging.ListMetadata `json:"metadata"`
}

// Order converts the body to an order.
func (b *OrderBody) Order() orders.Order {
	all := orders.Order{ID: wire.Text(b.ID), Description: wire.Text(b.Description)}
	for _, i := range b.Items {
		all.Items = append(all.Items, orders.Item{
			Name: wire.Text(i.Instance), Service: i.Service, Action: i.Action, Version: i.Version,
			Attributes: i.Attributes, Edits: edits(i.Edits), Metadata: i.Metadata, Config: i.Config,
		})
	}
	return all
}
