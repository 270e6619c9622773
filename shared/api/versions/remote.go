// Package versions serves stored versions: their list, their content, and what differs between two.
package versions

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"southbound/shared/api/client"
	"southbound/shared/api/document"
	"southbound/shared/api/paging"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/resource"
)

type Remote struct{ *client.Conn }

// Versions implements Home.
func (c Remote) Versions(ctx context.Context, env string) ([]Version, error) {
	return client.AllIn[Version](ctx, c.Conn, env, "versions")
}

// VersionsPage implements Home.
func (c Remote) VersionsPage(
	ctx context.Context, env string, q paging.Query,
) (paging.Page[Version], error) {
	return client.Page[Version](ctx, c.Conn, env, "versions", q.Values())
}

// Compare implements Home.
func (c Remote) Compare(
	ctx context.Context, env string, from, to int, whole bool,
) (deploy.DryRun, error) {
	request := map[string]any{"from": from, "to": to}
	if whole { // earlier servers reject the member
		request["whole"] = true
	}
	done, err := client.Ask[results.ReadDone](ctx, c.Conn, http.MethodPost,
		wire.EnvironmentPath(env, "diffs"), request)
	if err != nil {
		return deploy.DryRun{}, err
	}
	return results.Fetch(ctx, c.Conn, env, done)
}

// Described implements Home.
func (c Remote) Described(ctx context.Context, env string, number int) (Described, error) {
	return client.Ask[Described](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "versions/"+strconv.Itoa(number)), nil)
}

// Descriptions implements Home.
func (c Remote) Descriptions(
	ctx context.Context, env string, number int, id resource.ID, f func(*document.Description) error,
) error {
	q := url.Values{}
	if id != "" {
		q.Set("id", string(id))
	}
	return client.Each(ctx, c.Conn, wire.EnvironmentPath(env, "versions/"+strconv.Itoa(number)+"/resources"), q,
		f)
}

// DescriptionsPage implements Home.
func (c Remote) DescriptionsPage(
	ctx context.Context, env string, number int, q Query,
) (paging.Page[document.Description], error) {
	if q.Sort == "" {
		q.Sort = "id"
	}
	v := q.Values()
	v["filter"] = q.Filter
	return client.Page[document.Description](ctx, c.Conn, env,
		"versions/"+strconv.Itoa(number)+"/resources", v)
}

// VersionFile implements Home.
func (c Remote) VersionFile(
	ctx context.Context, env string, number int, hash string,
) ([]byte, error) {
	var b []byte
	err := c.Call(ctx, http.MethodGet,
		wire.EnvironmentPath(env, "versions/"+strconv.Itoa(number)+"/files/"+url.PathEscape(hash)), nil, &b)
	return b, err
}
