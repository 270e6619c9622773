package graphs

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"southbound/shared/api/client"
	"southbound/shared/api/wire"
)

type Remote struct{ *client.Conn }

// Graph implements Reader.
func (c Remote) Graph(ctx context.Context, env string, q Query) (Graph, error) {
	if err := check(q); err != nil {
		return Graph{}, err
	}
	if q.Limit <= 0 {
		q.Limit = DefaultNodes
	}
	path, query := "graph", url.Values{"limit": {strconv.Itoa(min(q.Limit, MaxNodes))}}
	if q.ID != "" {
		path = "resources/" + wire.Segment(string(q.ID)) + wire.GraphSuffix
		query.Set("up", strconv.Itoa(q.Up))
		query.Set("down", strconv.Itoa(q.Down))
	} else {
		query["open"], query["filter"] = q.Open, q.Filter
		if len(q.Fold) > 0 {
			query.Set("fold", strings.Join(q.Fold, ","))
		}
		if q.Outside {
			query.Set("outside", "true")
		}
	}
	return client.Ask[Graph](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, path)+"?"+query.Encode(), nil)
}
