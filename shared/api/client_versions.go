package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"southbound/shared/api/client"
	"southbound/shared/api/document"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// Compare implements Home.
func (c versionRemote) Compare(
	ctx context.Context, env string, from, to int, whole bool,
) (deploy.DryRun, error) {
	asked := map[string]any{"from": from, "to": to}
	if whole { // earlier servers reject the member
		asked["whole"] = true
	}
	done, err := client.Ask[ReadDone](ctx, c.Conn, http.MethodPost, wire.EnvironmentPath(env, "diffs"), asked)
	if err != nil {
		return deploy.DryRun{}, err
	}
	return gatherFrom(ctx, c.Conn, env, done)
}

// Described implements Home.
func (c versionRemote) Described(ctx context.Context, env string, number int) (Described, error) {
	return client.Ask[Described](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "versions/"+strconv.Itoa(number)), nil)
}

// Descriptions implements Home.
func (c versionRemote) Descriptions(
	ctx context.Context, env string, number int, id resource.ID, f func(*document.Description) error,
) error {
	q := url.Values{}
	if id != "" {
		q.Set("id", string(id))
	}
	return client.Each(ctx, c.Conn, wire.EnvironmentPath(env, "versions/"+strconv.Itoa(number)+"/resources"), q,
		f)
}

// VersionFile implements Home.
func (c versionRemote) VersionFile(
	ctx context.Context, env string, number int, hash string,
) ([]byte, error) {
	var b []byte
	err := c.Call(ctx, http.MethodGet,
		wire.EnvironmentPath(env, "versions/"+strconv.Itoa(number)+"/files/"+url.PathEscape(hash)), nil, &b)
	return b, err
}
