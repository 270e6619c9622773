package environments

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
)

type Remote struct{ *client.Conn }

// Progress implements Home. An environment that does not exist has no progress.
func (c Remote) Progress(ctx context.Context, env string) (Progress, error) {
	p, err := client.Ask[Progress](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "progress"), nil)
	if err != nil && client.IgnoreMissing(err) == nil {
		return ProgressOf(env, deploy.Progress{}), nil
	}
	return p, err
}

// Halt implements Home.
func (c Remote) Halt(ctx context.Context, env string, halted bool) error {
	return c.Call(ctx, http.MethodPost,
		wire.EnvironmentPath(env, "halt"), map[string]bool{"halted": halted},
		nil)
}

// Collect implements Home.
func (c Remote) Collect(
	ctx context.Context, env string, grace time.Duration,
) (deploy.Collected, error) {
	out, err := client.Ask[deploy.Collected](ctx, c.Conn, http.MethodPost,
		wire.EnvironmentPath(env, "gc"),
		map[string]int64{"grace_ms": grace.Milliseconds()})
	return out, client.IgnoreMissing(err)
}

// Environments implements Home.
func (c Remote) Environments(ctx context.Context) ([]string, error) {
	return client.All[string](ctx, c.Conn, "/v1/environments")
}

// AuditPage implements Home.
func (c Remote) AuditPage(
	ctx context.Context, env string, q AuditQuery,
) (paging.Page[Audited], error) {
	query := url.Values{"limit": {strconv.Itoa(min(max(q.Limit, 1), paging.MaxItems))}}
	if q.Cursor != "" {
		query.Set("cursor", q.Cursor)
	}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	return client.Ask[paging.Page[Audited]](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "audit")+"?"+query.Encode(), nil)
}
