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
	return d.Decode(&v.v) //nolint:wrapcheck // whoever reads the body says where
}

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) {
	return json.Marshal(v.v) //nolint:wrapcheck // whoever writes the body says where
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

func (r *routes) instanceHistory() {
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
		"The resources of an instance",
		func(ctx context.Context, o Orders, i *OfInstance) ([]InstanceResource, error) {
			one, err := o.Instance(ctx, i.Env, i.ref())
			if err != nil {
				return []InstanceResource{}, err
			}
			return InstanceResources(ctx, r.s, i.Env, one.ID)
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
	Items       []OrderItemBody `json:"service_order_items" minItems:"1" maxItems:"25"`
	Description *string         `json:"description,omitempty" maxLength:"4096" nullable:"true"`
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

func (r *routes) placeOrder() {
	type orderIn struct {
		InTenant
		Body OrderBody
	}
	ordering(
		r,
		http.MethodPost,
		"/lsm/v2/order",
		"order",
		"Order, change and delete several instances",
		func(ctx context.Context, o Orders, i *orderIn) (orders.Placed, error) {
			return o.Order(ctx, i.Env, i.Body.Order())
		},
	)
}

// Order returns the order that the body is.
func (b *OrderBody) Order() orders.Order {
	all := orders.Order{Description: or(b.Description)}
	for _, i := range b.Items {
		all.Items = append(all.Items, orders.Item{
			Name: or(i.Instance), Service: i.Service, Action: i.Action, Version: i.Version,
			Attributes: i.Attributes, Edits: edits(i.Edits), Metadata: i.Metadata, Config: i.Config,
		})
	}
	return all
}
