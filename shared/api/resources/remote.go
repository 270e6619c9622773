package resources

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/wire"
	"southbound/shared/resource"
)

type Remote struct{ *client.Conn }

// Health implements Home.
func (c Remote) Health(ctx context.Context, env string) (Health, error) {
	h, err := client.Ask[Health](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "health"), nil)
	return h, client.IgnoreMissing(err)
}

// Resources implements Home.
func (c Remote) Resources(
	ctx context.Context, env string, filter []string, f func(*Resource) error,
) error {
	return client.EachIn(ctx, c.Conn, wire.EnvironmentPath(env, "resources"),
		url.Values{"filter": filter, "limit": {strconv.Itoa(paging.MaxItems)}}, f)
}

// ResourcesPage implements Home.
func (c Remote) ResourcesPage(
	ctx context.Context, env string, q Query,
) (paging.Page[Resource], error) {
	v := q.Values()
	v["filter"] = q.Filter
	return client.Page[Resource](ctx, c.Conn, env, "resources", v)
}

// Resource implements Home.
func (c Remote) Resource(ctx context.Context, env string, id resource.ID) (Detail, error) {
	return client.Ask[Detail](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "resources/"+wire.Segment(string(id))), nil)
}

// Schedule implements Home.
func (c Remote) Schedule(ctx context.Context, env string, w Work) (int, error) {
	name := "deploy"
	if w.Repair {
		name = "repair"
	}
	var s Scheduled
	err := c.Call(ctx, http.MethodPost, wire.EnvironmentPath(env, name),
		map[string]any{"filter": wire.OrEmpty(w.Filter), "retry_failed": w.RetryFailed}, &s)
	return s.Scheduled, client.IgnoreMissing(err)
}

// Forget implements Home.
func (c Remote) Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error) {
	return client.Ask[Forgotten](ctx, c.Conn, http.MethodPost,
		wire.EnvironmentPath(env, "forget"), f)
}
