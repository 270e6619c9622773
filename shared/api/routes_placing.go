package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/service/orders"
)

// value is any value of JSON, with its numbers as they were written.
type value struct{ v any }

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(&v.v) // whoever reads the body says where
}

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) {
	return json.Marshal(v.v) // whoever writes the body says where
}

// Schema implements huma.SchemaProvider.
func (value) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

type eventsIn struct {
	OfInstance
	After int64 `query:"after" minimum:"0" doc:"seq of the last event of the page before"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

type logIn struct {
	OfInstance
	After int64 `query:"after" minimum:"0" doc:"version of the last state of the page before"`
	Limit int   `query:"limit" minimum:"1" maximum:"100" default:"100"`
}

func (r serviceRoutes) instanceHistory() {
	ordering(r, http.MethodGet, instancePath+"/events", "instanceEvents",
		"What has happened to an instance, oldest first",
		func(ctx context.Context, o Orders, i *eventsIn) ([]orders.Event, error) {
			all, err := o.Events(ctx, i.Env, i.ref(), i.After, i.Limit)
			return orEmpty(all), err
		})
	ordering(r, http.MethodGet, instancePath+"/log", "instanceLog",
		"The states that an instance has come to, with its attributes, oldest first",
		func(ctx context.Context, o Orders, i *logIn) ([]orders.LogEntry, error) {
			all, err := o.Log(ctx, i.Env, i.ref(), i.After, i.Limit)
			return orEmpty(all), err
		})
	ordering(r, http.MethodGet, instancePath+"/resources", "instanceResources",
		"The resources of an instance, and those that it follows",
		func(ctx context.Context, o Orders, i *OfInstance) ([]InstanceResource, error) {
			one, err := o.Instance(ctx, i.Env, i.ref())
			if err != nil {
				return []InstanceResource{}, err
			}
			return InstanceResources(ctx, r.s, i.Env, &one)
		})
	ordering(r, http.MethodGet, instancePath+"/diagnose", "diagnoseInstance",
		"Why an instance is not well",
		func(ctx context.Context, o Orders, i *OfInstance) (Diagnosis, error) {
			one, err := o.Instance(ctx, i.Env, i.ref())
			if err != nil {
				return Diagnosis{}, err
			}
			return Diagnose(ctx, r.s, o, i.Env, &one)
		})
}

// OrderBody does several things at once.
type OrderBody struct {
	nulls
	Items       []OrderItemBody `json:"service_order_items" minItems:"1" maxItems:"12"`
	Description *string         `json:"description,omitempty" maxLength:"4096" nullable:"true"`
	ID          *string         `json:"order_id,omitempty" format:"uuid" pattern:"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" nullable:"true" doc:"placing it again is not a second order"`
}

// OrderItemBody is one of them.
type OrderItemBody struct {
	Instance   *string           `json:"instance_id,omitempty" maxLength:"4096" nullable:"true" doc:"of what is made: a UUID, or a name to which relations of other items lead"`
	Service    string            `json:"service_entity" minLength:"1" maxLength:"255"`
	Action     orders.Action     `json:"action" enum:"create,update,delete"`
	Version    *int64            `json:"current_version,omitempty" minimum:"1" nullable:"true" doc:"null: whichever it is"`
	Attributes orders.Attributes `json:"attributes,omitempty"`
	Edits      []EditBody        `json:"edits,omitempty" nullable:"true" maxItems:"1000"`
	Metadata   map[string]string `json:"metadata,omitempty" maxProperties:"100"`
	Config     map[string]bool   `json:"config,omitempty" maxProperties:"100"`
}

func (r serviceRoutes) placeOrder() {
	type orderIn struct {
		InTenant
		Body OrderBody
	}
	const path = "/lsm/v2/order"
	ordering(r, http.MethodPost, path, "order", "Order, change and delete several instances",
		func(ctx context.Context, o Orders, i *orderIn) (orders.Placed, error) {
			return o.Order(ctx, i.Env, i.Body.Order())
		}, longerBody(maxOrders))
	type placedIn struct {
		InTenant
		ID string `path:"order_id" minLength:"1" maxLength:"255" doc:"of the order"`
	}
	ordering(r, http.MethodGet, path+"/{order_id}", "placedOrder",
		"An order, with what became of it",
		func(ctx context.Context, o Orders, i *placedIn) (orders.Placed, error) {
			return o.PlacedOrder(ctx, i.Env, i.ID)
		})
	serve(r.routes, http.MethodGet, path, "placedOrders", "Orders, with what became of them",
		func(ctx context.Context, i *ordersIn) (*out[PlacedOrders], error) {
			o, err := r.s.Orders()
			if err != nil {
				return nil, problemOf(err)
			}
			q := orders.OrderQuery{
				After: i.After, Limit: i.Limit, Descending: i.Sort != "created_at.asc",
			}
			page, err := o.PlacedOrders(ctx, i.Env, q)
			err = r.s.known(ctx, i.Env, len(page.Items), err)
			return answer(PlacedOrders{
				Data: orEmpty(page.Items), Links: i.links(page.Next),
				Metadata: ListMetadata{page.Next, len(page.Items)},
			}, err)
		}, about)
}

// ordersIn asks for orders.
type ordersIn struct {
	InTenant
	linked
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"of orders in a page"`
	After string `query:"after" pattern:"^[0-9]{1,16}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" doc:"metadata.next of the page before"`
	Sort  string `query:"sort" pattern:"^created_at(\\.(asc|desc))?$" doc:"the newest first, unless it is created_at.asc"`
}

// PlacedOrders is a page of orders.
type PlacedOrders struct {
	Data     []orders.Placed `json:"data"`
	Links    Links           `json:"links"`
	Metadata ListMetadata    `json:"metadata"`
}

// Order returns the order that the body is.
func (b *OrderBody) Order() orders.Order {
	all := orders.Order{ID: or(b.ID), Description: or(b.Description)}
	for _, i := range b.Items {
		all.Items = append(all.Items, orders.Item{
			Name: or(i.Instance), Service: i.Service, Action: i.Action, Version: i.Version,
			Attributes: i.Attributes, Edits: edits(i.Edits), Metadata: i.Metadata, Config: i.Config,
		})
	}
	return all
}
