package actions

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/wire"
)

type Remote struct{ *client.Conn }

// Actions implements Home.
func (c Remote) Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error) {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("resource", string(q.Resource))
	set("agent", q.Agent)
	set("action", string(q.Action))
	set("outcome", string(q.Outcome))
	set("after", q.After)
	set("cursor", q.Before)
	set("level", string(q.Level))
	set("text", q.Text)
	if q.Notable {
		v.Set("notable", "true")
	}
	if q.Version != 0 {
		v.Set("version", strconv.Itoa(q.Version))
	}
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	var out []Action
	for {
		limit := paging.MaxItems
		if q.Limit > 0 {
			limit = min(limit, q.Limit-len(out))
		}
		v.Set("limit", strconv.Itoa(limit))
		var page paging.Page[Action]
		err := c.Call(ctx, http.MethodGet,
			wire.EnvironmentPath(env, "actions?")+v.Encode(), nil, &page)
		if err := client.IgnoreMissing(err); err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if page.Next == "" || q.Limit > 0 && len(out) >= q.Limit {
			return out, nil
		}
		v.Set("cursor", page.Next)
	}
}
