// Package instances serves the instances of services: reading, changing and diagnosing them.
package instances

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

type Remote struct{ C *client.Conn }

// List implements Orders.
func (o Remote) List(
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
		v.Set("limit", wire.Number(inventory.Page(q.Limit)))
	}
	paging.SetPlace(v, &q.Place, q.Descending)
	path := strings.TrimSuffix(tenant.InstanceAddress(orders.Ref{Service: q.Service}), "/")
	p, err := client.Get[Instances](ctx, o.C, env, http.MethodGet, path, v, nil)
	return paging.PartOf(p.Data, p.Links, p.Metadata), err
}

// Instance implements Orders.
func (o Remote) Instance(
	ctx context.Context, env string, ref orders.Ref,
) (orders.Instance, error) {
	return client.GetData[orders.Instance](ctx, o.C, env, http.MethodGet,
		tenant.InstanceAddress(ref), nil, nil)
}

// Events implements Orders.
func (o Remote) Events(
	ctx context.Context, env string, ref orders.Ref, q orders.EventQuery,
) (orders.EventPage, error) {
	v := url.Values{
		"limit": {wire.Number(inventory.Page(q.Limit))}, "sort": {"timestamp.asc"},
		"filter.source": q.Sources, "filter.destination": q.Destinations,
		"filter.event_type": q.Types, "filter.version": q.Versions, "filter.timestamp": q.Times,
	}
	if q.Descending {
		v.Set("sort", "timestamp.desc")
	}
	paging.SetPlace(v, &q.Place, q.Descending)
	path := tenant.InstanceAddress(ref) + "/events"
	p, err := client.Get[InstanceEvents](ctx, o.C, env, http.MethodGet, path, v, nil)
	return paging.PartOf(p.Data, p.Links, p.Metadata), err
}

// Log implements Orders.
func (o Remote) Log(
	ctx context.Context, env string, ref orders.Ref, q orders.LogQuery,
) (orders.LogPage, error) {
	v := url.Values{
		"limit": {wire.Number(inventory.Versions(q.Limit))}, "sort": {"version.asc"},
		"filter.version": q.Versions,
	}
	if q.Descending {
		v.Set("sort", "version.desc")
	}
	paging.SetPlace(v, &q.Place, q.Descending)
	path := tenant.InstanceAddress(ref) + "/log"
	p, err := client.Get[InstanceLog](ctx, o.C, env, http.MethodGet, path, v, nil)
	return paging.PartOf(p.Data, p.Links, p.Metadata), err
}

// Create implements Orders. With an id, the order may be sent twice.
func (o Remote) Create(
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
	return client.GetData[orders.Instance](ctx, o.C, env, http.MethodPost, path, nil, body)
}

// version sets the version that a change is for. With a version, a change that is sent twice takes
// effect once. If the caller has named no version, it is the current one.
func (o Remote) version(ctx context.Context, env string, w *orders.Wish) error {
	if w.Version != nil {
		return nil
	}
	is, err := o.Instance(ctx, env, w.Ref)
	w.Version = &is.Version
	return err
}

// request is a request.
type request struct {
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
	ctx context.Context, o Remote, env string, w orders.Wish, ask func(*orders.Wish) request,
) (T, error) {
	for try := 1; ; try++ {
		now, sent := w, 0
		if err := o.version(ctx, env, &now); err != nil {
			var none T
			return none, err
		}
		by := func(ctx context.Context, f func() error) error {
			return o.C.Retry(ctx, func() error { sent++; return f() })
		}
		a := ask(&now)
		d, err := client.GetBy[client.Data[T]](ctx, o.C, by, env, a.method, a.path, a.query, a.body)
		if w.Version != nil || sent > 1 || try == changeTries || !fault.Is(err, fault.Conflict) {
			return d.Data, err
		}
	}
}

// changes makes a request that changes an instance, with the version in its URL.
func (o Remote) changes(
	ctx context.Context, env, method, what string, w orders.Wish, body func(*orders.Wish) any,
) (orders.Instance, error) {
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) request {
		q := url.Values{"current_version": {wire.Number(*w.Version)}}
		return request{method, tenant.InstanceAddress(w.Ref) + what, q, body(w)}
	})
}

// Update implements Orders.
func (o Remote) Update(
	ctx context.Context, env string, w orders.Wish, attributes map[string]any,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPatch, "", w, func(w *orders.Wish) any {
		return UpdateBody{Attributes: attributes, Comment: wire.OrNull(w.Message)}
	})
}

// Replace implements Orders.
func (o Remote) Replace(
	ctx context.Context, env string, w orders.Wish, attributes map[string]any, ignore bool,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPut, "", w, func(*orders.Wish) any {
		return ReplacementBody{
			Attributes: attributes, Ignore: &ignore, Comment: wire.OrNull(w.Message),
		}
	})
}

// EditSet implements Orders.
func (o Remote) EditSet(
	ctx context.Context, env string, w orders.Wish, set string, all []inventory.Edit,
) (orders.Instance, error) {
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) request {
		return request{http.MethodPatch, expertOf(w.Ref), nil, ExpertBody{
			EditsBody: EditsBody{
				Edits: BodiesOf(all), Version: w.Version, Comment: wire.OrNull(w.Message),
			}, Set: set + "_attributes",
		}}
	})
}

func expertOf(ref orders.Ref) string {
	return strings.Replace(tenant.InstanceAddress(ref), "/lsm/v1/", "/lsm/v2/", 1) + "/expert"
}

// Destroy implements Orders.
func (o Remote) Destroy(
	ctx context.Context, env string, w orders.Wish,
) (orders.Instance, error) {
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) request {
		q := url.Values{"current_version": {wire.Number(*w.Version)}}
		return request{http.MethodDelete, expertOf(w.Ref), q, nil}
	})
}

// Edit implements Orders.
func (o Remote) Edit(
	ctx context.Context, env string, w orders.Wish, all []inventory.Edit,
) (orders.Instance, error) {
	path := strings.Replace(tenant.InstanceAddress(w.Ref), "/lsm/v1/", "/lsm/v2/", 1)
	return changed[orders.Instance](ctx, o, env, w, func(w *orders.Wish) request {
		return request{http.MethodPatch, path, nil, EditsBody{
			Edits: BodiesOf(all), Version: w.Version, Comment: wire.OrNull(w.Message),
		}}
	})
}

func BodiesOf(all []inventory.Edit) []EditBody {
	var out []EditBody
	for _, e := range all {
		out = append(out, EditBody{e.ID, e.Operation, e.Target, tenant.Value{V: e.Value}})
	}
	return out
}

// Delete implements Orders.
func (o Remote) Delete(
	ctx context.Context, env string, w orders.Wish,
) (orders.Instance, error) {
	none := func(*orders.Wish) any { return nil }
	return o.changes(ctx, env, http.MethodDelete, "", w, none)
}

// SetState implements Orders.
func (o Remote) SetState(
	ctx context.Context, env string, w orders.Wish, target string,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPost, "/state", w, func(w *orders.Wish) any {
		return StateBody{Target: target, Message: wire.OrNull(w.Message)}
	})
}

// Force implements Orders.
func (o Remote) Force(
	ctx context.Context, env string, w orders.Wish, target string, op lifecycle.Operation,
) (orders.Instance, error) {
	return o.changes(ctx, env, http.MethodPost, "/expert/state", w, func(w *orders.Wish) any {
		b := ForceBody{StateBody: StateBody{Target: target, Message: wire.OrNull(w.Message)}}
		if op != lifecycle.NoOperation {
			b.Operation = &op
		}
		return b
	})
}

// Migrate implements Orders.
func (o Remote) Migrate(
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
func (o Remote) Configure(
	ctx context.Context, env string, w orders.Wish, values map[string]bool,
) (orders.Instance, error) {
	path := tenant.InstanceAddress(w.Ref) + "/config"
	_, err := changed[map[string]bool](ctx, o, env, w, func(w *orders.Wish) request {
		return request{http.MethodPost, path, nil, ConfigBody{Values: values, Version: w.Version}}
	})
	if err != nil {
		return orders.Instance{}, err
	}
	return o.Instance(ctx, env, w.Ref)
}

// SetMetadata implements Orders.
func (o Remote) SetMetadata(
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
