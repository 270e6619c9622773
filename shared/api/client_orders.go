package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// Orders implements Home.
func (c *Client) Orders() (Orders, error) {
	return clientOrders{catalogClient{c.connection}, instanceClient{c.connection},
		orderClient{c.connection}, callbackClient{c.connection}}, nil
}

// clientOrders sends requests to a server for the methods of orders.Service.
type clientOrders struct {
	catalogClient
	instanceClient
	orderClient
	callbackClient
}

type (
	catalogClient  struct{ c *connection }
	instanceClient struct{ c *connection }
	orderClient    struct{ c *connection }
	callbackClient struct{ c *connection }
)

// tenant is the header with the environment.
const tenant = "X-Inmanta-Tid"

// get makes a request, retries it after temporary errors, and returns the answer.
func get[T any](
	ctx context.Context, c *connection, env, method, path string, q url.Values, in any,
) (T, error) {
	return getBy[T](ctx, c, c.again, env, method, path, q, in)
}

// getBy is get for a request that a function makes.
func getBy[T any](
	ctx context.Context, c *connection, by func(context.Context, func() error) error,
	env, method, path string, q url.Values, in any,
) (T, error) {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	var body, answered []byte
	var v T
	if in != nil {
		var err error
		if body, err = encode(in); err != nil {
			return v, err
		}
	}
	if _, err := c.discover(ctx); err != nil {
		return v, err
	}
	err := by(ctx, func() error {
		return c.request(ctx, c.base, method, path, http.Header{tenant: {env}}, body, &answered)
	})
	if err != nil {
		return v, err
	}
	d := json.NewDecoder(bytes.NewReader(answered))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return v, fault.Wrap(fault.Foreign, "read the answer of "+c.base.Host, err)
	}
	return v, nil
}

// got is get for an answer that is wrapped in data.
func got[T any](
	ctx context.Context, c *connection, env, method, path string, q url.Values, in any,
) (T, error) {
	d, err := get[data[T]](ctx, c, env, method, path, q, in)
	return d.Data, err
}

func inventoryOf(ref orders.Ref) string {
	service := ref.Service
	if service == "" {
		service = AnyService
	}
	return "/lsm/v1/service_inventory/" + url.PathEscape(service) + "/" + url.PathEscape(ref.ID)
}

// Catalog implements Orders.
func (o catalogClient) Catalog(
	ctx context.Context, env string, versions, counts bool,
) ([]orders.Offer, error) {
	path := "/lsm/v1/service_catalog"
	if versions {
		path = "/lsm/v2/service_catalog"
	}
	all, err := got[[]orders.Offer](ctx, o.c, env, http.MethodGet, path, counting(counts), nil)
	return all, nothingThere(err)
}

func counting(counts bool) url.Values {
	if counts {
		return url.Values{"instance_summary": {"true"}}
	}
	return nil
}

// Offer implements Orders.
func (o catalogClient) Offer(
	ctx context.Context, env, name string, version int, counts bool,
) (orders.Offer, error) {
	path := "/lsm/v2/service_catalog/" + url.PathEscape(name)
	if version >= 0 {
		path += "/" + text(version)
		counts = false
	}
	return got[orders.Offer](ctx, o.c, env, http.MethodGet, path, counting(counts), nil)
}

// List implements Orders.
func (o instanceClient) List(
	ctx context.Context, env string, q orders.Query,
) (orders.Page, error) {
	v := url.Values{
		"filter.state": q.States, "filter.attribute_set_empty": q.Empty,
		"filter.attribute_set_not_empty": q.NotEmpty,
	}
	for name, value := range map[string]string{
		"filter.id": q.ID, "filter.service_identity_attribute_value": q.Identity,
		"filter.id_or_service_identity": q.Name, "sort": q.Sort,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, value := range q.Attributes {
		v.Add("filter.attribute", name+"="+value)
	}
	if q.Descending {
		sort := q.Sort
		if sort == "" {
			sort = orders.Sorts()[0]
		}
		v.Set("sort", sort+".desc")
	}
	switch q.Deleted {
	case orders.OnlyDeleted:
		v.Set("filter.deleted", "true")
	case orders.WithDeleted:
		v.Set("include_deleted", "true")
	case orders.NotDeleted:
	}
	if q.Limit > 0 {
		v.Set("limit", text(inventory.Page(q.Limit)))
	}
	inPlace(v, &q.Place, q.Descending)
	path := strings.TrimSuffix(inventoryOf(orders.Ref{Service: q.Service}), "/")
	p, err := get[Instances](ctx, o.c, env, http.MethodGet, path, v, nil)
	return part(p.Data, p.Links, p.Metadata), err
}

// Instance implements Orders.
func (o instanceClient) Instance(
	ctx context.Context, env string, ref orders.Ref,
) (orders.Instance, error) {
	return got[orders.Instance](ctx, o.c, env, http.MethodGet, inventoryOf(ref), nil, nil)
}

// Events implements Orders.
func (o instanceClient) Events(
	ctx context.Context, env string, ref orders.Ref, q orders.EventQuery,
) (orders.EventPage, error) {
	v := url.Values{
		"limit": {text(inventory.Page(q.Limit))}, "sort": {"timestamp.asc"},
		"filter.source": q.Sources, "filter.destination": q.Destinations,
		"filter.event_type": q.Types, "filter.version": q.Versions, "filter.timestamp": q.Times,
	}
	if q.Descending {
		v.Set("sort", "timestamp.desc")
	}
	inPlace(v, &q.Place, q.Descending)
	path := inventoryOf(ref) + "/events"
	p, err := get[InstanceEvents](ctx, o.c, env, http.MethodGet, path, v, nil)
	return part(p.Data, p.Links, p.Metadata), err
}

// Log implements Orders.
func (o instanceClient) Log(
	ctx context.Context, env string, ref orders.Ref, q orders.LogQuery,
) (orders.LogPage, error) {
	v := url.Values{
		"limit": {text(inventory.Versions(q.Limit))}, "sort": {"version.asc"},
		"filter.version": q.Versions,
	}
	if q.Descending {
		v.Set("sort", "version.desc")
	}
	inPlace(v, &q.Place, q.Descending)
	path := inventoryOf(ref) + "/log"
	p, err := get[InstanceLog](ctx, o.c, env, http.MethodGet, path, v, nil)
	return part(p.Data, p.Links, p.Metadata), err
}

// Create implements Orders. With an id, the order may be sent twice.
func (o instanceClient) Create(
	ctx context.Context, env string, n orders.Creation,
) (orders.Instance, error) {
	if n.ID == "" {
		n.ID = uuid.NewString()
	}
	body := CreationBody{
		Attributes: n.Attributes, Version: n.Version, ID: &n.ID, Metadata: n.Metadata,
		Config: n.Config,
	}
	if body.Attributes == nil {
		body.Attributes = orders.Attributes{}
	}
	if n.State != "" {
		body.State = &n.State
	}
	path := "/lsm/v1/service_inventory/" + url.PathEscape(n.Service)
	return got[orders.Instance](ctx, o.c, env, http.MethodPost, path, nil, body)
}

// version sets the version that a change is for. With a version, a change that is sent twice takes
// effect once. If the caller has named no version, it is the current one.
func (o instanceClient) version(ctx context.Context, env string, w *orders.Wish) error {
	if w.Version != nil {
		return nil
	}
	is, err := o.Instance(ctx, env, w.Ref)
	w.Version = &is.Version
	return err
}

// asked is a request.
type asked struct {
	method, path string
	query        url.Values
	body         any
}

// changeTries is how often a change is retried with the current version.
const changeTries = 20

// changed makes a request that changes an instance. If the caller has named no version and the
// instance has changed since, the request is retried with the current version. It is not retried if
// it was sent more than once: the conflict may then be the effect of the request itself.
func changed[T any](
	ctx context.Context, o instanceClient, env string, w orders.Wish, ask func(*orders.Wish) asked,
) (T, error) {
	for try := 1; ; try++ {
		now, sent := w, 0
		if err := o.version(ctx, env, &now); err != nil {
			var none T
			return none, err
		}
		by := func(ctx context.Context, f func() error) error {
			return o.c.again(ctx, func() error { sent++; return f() })
		}
		a := ask(&now)
		d, err := getBy[data[T]](ctx, o.c, by, env, a.method, a.path, a.query, a.body)
		if w.Version != nil || sent > 1 || try == changeTries || !fault.Is(err, fault.Conflict) {
			return d.Data, err
		}
	}
}

// changes makes a request that changes an instance, with the version in its URL.
func (o instanceClient) changes(
	ctx context.Context, env, method, what string, w orders.Wish, body func(*orders.Wish) any,
) (orders.Instance, error) {
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) asked {
		q := url.Values{"current_version": {text(*w.Version)}}
		return asked{method, inventoryOf(w.Ref) + what, q, body(w)}
	})
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Update implements Orders.
func (o instanceClient) Update(
	ctx context.Context, env string, w orders.Wish, attributes map[string]any,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPatch, "", w, func(w *orders.Wish) any {
		return UpdateBody{Attributes: attributes, Comment: orNull(w.Message)}
	})
}

// Replace implements Orders.
func (o instanceClient) Replace(
	ctx context.Context, env string, w orders.Wish, attributes map[string]any, ignore bool,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPut, "", w, func(*orders.Wish) any {
		return ReplacementBody{
			Attributes: attributes, Ignore: &ignore, Comment: orNull(w.Message),
		}
	})
}

// EditSet implements Orders.
func (o instanceClient) EditSet(
	ctx context.Context, env string, w orders.Wish, set string, all []inventory.Edit,
) (orders.Instance, error) {
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) asked {
		return asked{http.MethodPatch, expertOf(w.Ref), nil, ExpertBody{
			EditsBody: EditsBody{
				Edits: editBodies(all), Version: w.Version, Comment: orNull(w.Message),
			}, Set: set + "_attributes",
		}}
	})
}

func expertOf(ref orders.Ref) string {
	return strings.Replace(inventoryOf(ref), "/lsm/v1/", "/lsm/v2/", 1) + "/expert"
}

// Destroy implements Orders.
func (o instanceClient) Destroy(
	ctx context.Context, env string, w orders.Wish,
) (orders.Instance, error) {
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) asked {
		q := url.Values{"current_version": {text(*w.Version)}}
		return asked{http.MethodDelete, expertOf(w.Ref), q, nil}
	})
}

// Edit implements Orders.
func (o instanceClient) Edit(
	ctx context.Context, env string, w orders.Wish, all []inventory.Edit,
) (orders.Instance, error) {
	path := strings.Replace(inventoryOf(w.Ref), "/lsm/v1/", "/lsm/v2/", 1)
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) asked {
		return asked{http.MethodPatch, path, nil, EditsBody{
			Edits: editBodies(all), Version: w.Version, Comment: orNull(w.Message),
		}}
	})
}

func editBodies(all []inventory.Edit) []EditBody {
	var out []EditBody
	for _, e := range all {
		out = append(out, EditBody{e.ID, e.Operation, e.Target, value{e.Value}})
	}
	return out
}

// Delete implements Orders.
func (o instanceClient) Delete(
	ctx context.Context, env string, w orders.Wish,
) (orders.Instance, error) {
	none := func(*orders.Wish) any { return nil }
	return o.changes(ctx, env, http.MethodDelete, "", w, none)
}

// SetState implements Orders.
func (o instanceClient) SetState(
	ctx context.Context, env string, w orders.Wish, target string,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPost, "/state", w, func(w *orders.Wish) any {
		return StateBody{Target: target, Message: orNull(w.Message)}
	})
}

// Force implements Orders.
func (o instanceClient) Force(
	ctx context.Context, env string, w orders.Wish, target string, op lifecycle.Operation,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPost, "/expert/state", w, func(w *orders.Wish) any {
		b := ForceBody{StateBody: StateBody{Target: target, Message: orNull(w.Message)}}
		if op != lifecycle.NoOperation {
			b.Operation = &op
		}
		return b
	})
}

// Migrate implements Orders.
func (o instanceClient) Migrate(
	ctx context.Context, env string, w orders.Wish, version int, m inventory.Migration,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPatch, "/update_entity_version", w,
		func(*orders.Wish) any {
			return MigrationBody{
				Target: version, State: m.State, Candidate: m.Candidate, Active: m.Active,
				Rollback: m.Rollback,
			}
		})
}

// Configure implements Orders.
func (o instanceClient) Configure(
	ctx context.Context, env string, w orders.Wish, values map[string]bool,
) (orders.Instance, error) {
	path := inventoryOf(w.Ref) + "/config"
	_, err := changed[map[string]bool](ctx, o, env, w, func(w *orders.Wish) asked {
		return asked{http.MethodPost, path, nil, ConfigBody{Values: values, Version: w.Version}}
	})
	if err != nil {
		return orders.Instance{}, err
	}
	return o.Instance(ctx, env, w.Ref)
}

// SetMetadata implements Orders.
func (o instanceClient) SetMetadata(
	ctx context.Context, env string, w orders.Wish, key string, value *string,
) (orders.Instance, error) {
	what := "/metadata/" + url.PathEscape(key)
	if value == nil {
		none := func(*orders.Wish) any { return nil }
		return o.changes(ctx, env, http.MethodDelete, what, w, none)
	}
	return o.changes(ctx, env, http.MethodPost, what, w, func(*orders.Wish) any {
		return MetadataBody{Value: value}
	})
}

// Order implements Orders. With an id, the order may be sent twice.
func (o orderClient) Order(
	ctx context.Context, env string, all orders.Order,
) (orders.Placed, error) {
	if all.ID == "" {
		all.ID = uuid.NewString()
	}
	body := OrderBody{
		ID: &all.ID, Description: orNull(all.Description), Items: []OrderItemBody{},
	}
	for _, i := range all.Items {
		b := OrderItemBody{
			Instance: orNull(i.Name), Service: i.Service, Action: i.Action, Version: i.Version,
			Attributes: i.Attributes, Edits: editBodies(i.Edits), Metadata: i.Metadata,
			Config: i.Config,
		}
		body.Items = append(body.Items, b)
	}
	return got[orders.Placed](ctx, o.c, env, http.MethodPost, ordersPath, nil, body)
}

const ordersPath = "/lsm/v2/order"

// PlacedOrder implements Orders.
func (o orderClient) PlacedOrder(ctx context.Context, env, id string) (orders.Placed, error) {
	path := ordersPath + "/" + url.PathEscape(id)
	return got[orders.Placed](ctx, o.c, env, http.MethodGet, path, nil, nil)
}

// PlacedOrders implements Orders.
func (o orderClient) PlacedOrders(
	ctx context.Context, env string, q orders.OrderQuery,
) (orders.OrderPage, error) {
	v := url.Values{"sort": {"created_at.asc"}, "limit": {text(inventory.OrderPage(q.Limit))}}
	if q.Descending {
		v.Set("sort", "created_at.desc")
	}
	inPlace(v, &q.Place, q.Descending)
	p, err := get[PlacedOrders](ctx, o.c, env, http.MethodGet, ordersPath, v, nil)
	return part(p.Data, p.Links, p.Metadata), nothingThere(err)
}

// Register implements Orders. With an id, it may be sent twice.
func (o callbackClient) Register(
	ctx context.Context, env string, n orders.NewCallback,
) (orders.Callback, error) {
	if n.ID == "" {
		n.ID = uuid.NewString()
	}
	body := CallbackBody{
		URL: n.URL, ID: &n.ID, Service: orNull(n.Service), Level: orNull(n.Level), Events: n.Events,
		Secret: orNull(n.Secret),
	}
	id, err := got[string](ctx, o.c, env, http.MethodPost, callbacksPath, nil, body)
	if err != nil {
		return orders.Callback{}, err
	}
	return oneCallback(ctx, o, env, id)
}

// Unregister implements Orders.
func (o callbackClient) Unregister(ctx context.Context, env, id string) error {
	path := callbacksPath + "/" + url.PathEscape(id)
	_, err := got[string](ctx, o.c, env, http.MethodDelete, path, nil, nil)
	return err
}

// Registered implements Orders.
func (o callbackClient) Registered(ctx context.Context, env string) ([]orders.Callback, error) {
	all, err := got[[]orders.Callback](ctx, o.c, env, http.MethodGet, callbacksPath, nil, nil)
	return all, nothingThere(err)
}
