package actions

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
)

type Remote struct{ *client.Conn }

// Actions implements Home.
func (c Remote) Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error) {
	var out []Action
	v := q.values()
	for {
		limit := paging.MaxItems
		if q.Limit > 0 {
			limit = min(limit, q.Limit-len(out))
		}
		v.Set("limit", strconv.Itoa(limit))
		page, err := client.Page[Action](ctx, c.Conn, env, "actions", v)
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

// ActionsPage implements Home.
func (c Remote) ActionsPage(
	ctx context.Context, env string, q ActionQuery,
) (paging.Page[Action], error) {
	v := q.values()
	v.Set("limit", strconv.Itoa(min(max(q.Limit, 1), paging.MaxItems)))
	return client.Page[Action](ctx, c.Conn, env, "actions", v)
}

// values returns the parameters of a request, without its limit.
func (q *ActionQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"resource": string(q.Resource), "agent": q.Agent, "action": string(q.Action),
		"outcome": string(q.Outcome), "after": q.After, "cursor": q.Before,
		"level": string(q.Level), "set": q.Set, "text": q.Text,
	} {
		client.Set(v, name, value)
	}
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
	return v
}
