// Package ordering serves orders of several changes.
package ordering

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"southbound/shared/api/client"
	"southbound/shared/api/environments"
	"southbound/shared/api/instances"
	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

type Remote struct{ C *client.Conn }

// Order implements Orders. With an id, the order may be sent twice.
func (o Remote) Order(
	ctx context.Context, env string, all orders.Order,
) (orders.Placed, error) {
	if all.ID == "" {
		all.ID = uuid.NewString()
	}
	body := OrderBody{
		ID: &all.ID, Description: wire.OrNull(all.Description), Items: []OrderItemBody{},
	}
	for _, i := range all.Items {
		b := OrderItemBody{
			Instance: wire.OrNull(i.Name), Service: i.Service, Action: i.Action, Version: i.Version,
			Attributes: i.Attributes, Edits: instances.BodiesOf(i.Edits), Metadata: i.Metadata,
			Config: i.Config,
		}
		body.Items = append(body.Items, b)
	}
	return client.GetData[orders.Placed](ctx, o.C, env, http.MethodPost, ordersPath, nil, body)
}

const ordersPath = "/lsm/v2/order"

// PlacedOrder implements Orders.
func (o Remote) PlacedOrder(ctx context.Context, env, id string) (orders.Placed, error) {
	path := ordersPath + "/" + url.PathEscape(id)
	return client.GetData[orders.Placed](ctx, o.C, env, http.MethodGet, path, nil, nil)
}

// PlacedOrders implements Orders.
func (o Remote) PlacedOrders(
	ctx context.Context, env string, q orders.OrderQuery,
) (orders.OrderPage, error) {
	v := url.Values{"sort": {"created_at.asc"}, "limit": {wire.Number(inventory.OrderPage(q.Limit))}}
	if q.Descending {
		v.Set("sort", "created_at.desc")
	}
	paging.SetPlace(v, &q.Place, q.Descending)
	p, err := client.Get[PlacedOrders](ctx, o.C, env, http.MethodGet, ordersPath, v, nil)
	return paging.PartOf(p.Data, p.Links, p.Metadata), client.IgnoreMissing(err)
}

// Placer places orders of several changes.
type Placer interface {
	// Order makes several changes in one request.
	Order(ctx context.Context, env string, o orders.Order) (orders.Placed, error)
	// PlacedOrder returns an order with its results.
	PlacedOrder(ctx context.Context, env, id string) (orders.Placed, error)
	// PlacedOrders returns a page of orders.
	PlacedOrders(ctx context.Context, env string, q orders.OrderQuery) (orders.OrderPage, error)
}

// OrderBody requests several changes in one order.
type OrderBody struct {
	tenant.Nulls
	Items       []OrderItemBody `json:"service_order_items" minItems:"1" maxItems:"12"`
	Description *string         `json:"description,omitempty" maxLength:"4096" nullable:"true"`
	ID          *string         `json:"order_id,omitempty" format:"uuid" pattern:"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" nullable:"true" doc:"id of the order: an order with the same id is placed once"`
}

// OrderItemBody is one change of an order.
type OrderItemBody struct {
	Instance   *string              `json:"instance_id,omitempty" maxLength:"4096" nullable:"true" doc:"for a new instance: a UUID, or a name that relations of other items use"`
	Service    string               `json:"service_entity" minLength:"1" maxLength:"255"`
	Action     orders.Action        `json:"action" enum:"create,update,delete"`
	Version    *int64               `json:"current_version,omitempty" minimum:"1" nullable:"true" doc:"expected version; null: any"`
	Attributes orders.Attributes    `json:"attributes,omitempty"`
	Edits      []instances.EditBody `json:"edits,omitempty" nullable:"true" maxItems:"1000"`
	Metadata   map[string]string    `json:"metadata,omitempty" maxProperties:"100"`
	Config     map[string]bool      `json:"config,omitempty" maxProperties:"100"`
}

// Routes serves orders of several changes.
func Routes(r *server.Router, s *tenant.Orders, env *environments.Service) {
	type orderIn struct {
		tenant.InTenant
		Body OrderBody
	}
	const path = "/lsm/v2/order"
	tenant.Register(r, s, http.MethodPost, path, "order",
		"Order, change and delete several instances",
		func(ctx context.Context, o *orders.Service, i *orderIn) (orders.Placed, error) {
			return o.Order(ctx, i.Env, i.Body.Order())
		}, tenant.LongerBody(tenant.MaxOrders))
	type placedIn struct {
		tenant.InTenant
		ID string `path:"order_id" minLength:"1" maxLength:"255" doc:"of the order"`
	}
	tenant.Register(r, s, http.MethodGet, path+"/{order_id}", "placedOrder",
		"An order and its result",
		func(ctx context.Context, o *orders.Service, i *placedIn) (orders.Placed, error) {
			return o.PlacedOrder(ctx, i.Env, i.ID)
		})
	server.Register(r, http.MethodGet, path, "placedOrders", "Orders and their results",
		func(ctx context.Context, i *ordersIn) (*server.Out[PlacedOrders], error) {
			o, err := s.Open()
			if err != nil {
				return nil, problem.Of(err)
			}
			_, descending := paging.Descending(cmp.Or(i.Sort, "created_at.desc"), true)
			q := orders.OrderQuery{
				Place:      paging.PlaceOf(&i.ByTime, descending, i.Limit, i.WithCounts),
				Descending: descending,
			}
			page, err := o.PlacedOrders(ctx, i.Env, q)
			err = env.CheckFound(ctx, i.Env, len(page.Items), err)
			links, m := paging.Around(&i.Linked, &page, descending, i.Limit, i.WithCounts)
			return server.Answer(PlacedOrders{wire.OrEmpty(page.Items), links, m}, err)
		}, tenant.MarkServices)
}

// ordersIn requests orders.
type ordersIn struct {
	tenant.InTenant
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
			Attributes: i.Attributes, Edits: instances.EditsOf(i.Edits), Metadata: i.Metadata, Config: i.Config,
		})
	}
	return all
}
