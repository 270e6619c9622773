package api

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
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Progress implements Home. An environment that does not exist has no progress.
func (c environmentRemote) Progress(ctx context.Context, env string) (Progress, error) {
	p, err := client.Ask[Progress](ctx, c.Conn, http.MethodGet, wire.EnvironmentPath(env, "progress"), nil)
	if err != nil && client.IgnoreMissing(err) == nil {
		return ProgressOf(env, deploy.Progress{}), nil
	}
	return p, err
}

// Health implements Home.
func (c resourceRemote) Health(ctx context.Context, env string) (Health, error) {
	h, err := client.Ask[Health](ctx, c.Conn, http.MethodGet, wire.EnvironmentPath(env, "health"), nil)
	return h, client.IgnoreMissing(err)
}

// Resources implements Home.
func (c resourceRemote) Resources(
	ctx context.Context, env string, filter []string, f func(*Resource) error,
) error {
	return client.EachIn(ctx, c.Conn, wire.EnvironmentPath(env, "resources"),
		url.Values{"filter": filter, "limit": {strconv.Itoa(paging.MaxItems)}}, f)
}

// Resource implements Home.
func (c resourceRemote) Resource(ctx context.Context, env string, id resource.ID) (Detail, error) {
	return client.Ask[Detail](ctx, c.Conn, http.MethodGet,
		wire.EnvironmentPath(env, "resources/"+wire.Segment(string(id))), nil)
}

// Versions implements Home.
func (c versionRemote) Versions(ctx context.Context, env string) ([]Version, error) {
	return client.AllIn[Version](ctx, c.Conn, env, "versions")
}

// Agents implements Home.
func (c agentRemote) Agents(ctx context.Context, env string) ([]Agent, error) {
	return client.AllIn[Agent](ctx, c.Conn, env, "agents")
}

// Types implements Home.
func (c typeRemote) Types(ctx context.Context) ([]Type, error) {
	return client.All[Type](ctx, c.Conn, "/v1/types")
}

// Suggest implements Home.
func (c parameterRemote) Suggest(ctx context.Context, env, name string, values []any) error {
	want, err := suggesting(name, values)
	if err != nil {
		return err
	}
	have, err := c.Parameter(ctx, env, name)
	switch {
	case fault.Is(err, fault.NotFound):
	case err != nil || have.Value == want.Value && have.Source == want.Source:
		return err
	}
	path := "/api/v1/parameter/" + url.PathEscape(name)
	body := map[string]any{"value": "", "metadata": map[string]any{"values": values}}
	_, err = client.Get[OneParameter](ctx, c.Conn, env, http.MethodPut, path, nil, body)
	return err
}

// Parameters implements Home.
func (c parameterRemote) Parameters(
	ctx context.Context, env string, facts bool,
) ([]state.Parameter, error) {
	what := "parameters"
	if facts {
		what = "facts"
	}
	return client.AllIn[state.Parameter](ctx, c.Conn, env, what)
}

// Parameter implements Home.
func (c parameterRemote) Parameter(ctx context.Context, env, name string) (state.Parameter, error) {
	return client.Ask[state.Parameter](ctx, c.Conn, http.MethodGet, parameterPath(env, name), nil)
}

// ParameterHistory implements Home.
func (c parameterRemote) ParameterHistory(
	ctx context.Context, env, name string,
) ([]state.ParameterChange, error) {
	var out []state.ParameterChange
	err := client.EachIn(ctx, c.Conn, parameterPath(env, name)+wire.HistorySuffix,
		url.Values{"limit": {strconv.Itoa(paging.MaxItems)}},
		func(p *state.ParameterChange) error {
			out = append(out, *p)
			return nil
		})
	return out, err
}

// SetParameter implements Home.
func (c parameterRemote) SetParameter(
	ctx context.Context, env, name, value string,
) (state.Parameter, error) {
	if err := checkValue(name, value); err != nil { // JSON would change it
		return state.Parameter{}, err
	}
	return client.Ask[state.Parameter](ctx, c.Conn, http.MethodPut, parameterPath(env, name),
		map[string]string{"value": value})
}

// DeleteParameter implements Home.
func (c parameterRemote) DeleteParameter(ctx context.Context, env, name string) error {
	return c.Call(ctx, http.MethodDelete, parameterPath(env, name), nil, nil)
}

func parameterPath(env, name string) string {
	return wire.EnvironmentPath(env, "parameters/"+wire.Segment(name))
}

// Actions implements Home.
func (c actionRemote) Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error) {
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
		err := c.Call(ctx, http.MethodGet, wire.EnvironmentPath(env, "actions?")+v.Encode(), nil, &page)
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

// Schedule implements Home.
func (c resourceRemote) Schedule(ctx context.Context, env string, w Work) (int, error) {
	name := "deploy"
	if w.Repair {
		name = "repair"
	}
	var s Scheduled
	err := c.Call(ctx, http.MethodPost, wire.EnvironmentPath(env, name),
		map[string]any{"filter": wire.OrEmpty(w.Filter), "retry_failed": w.RetryFailed}, &s)
	return s.Scheduled, client.IgnoreMissing(err)
}

// Pause implements Home.
func (c agentRemote) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := mayNameAgents(agents); err != nil {
		return err
	}
	return c.Call(ctx, http.MethodPost, wire.EnvironmentPath(env, "pause"),
		map[string]any{"agents": wire.OrEmpty(agents), "paused": paused}, nil)
}

// Halt implements Home.
func (c environmentRemote) Halt(ctx context.Context, env string, halted bool) error {
	return c.Call(ctx, http.MethodPost, wire.EnvironmentPath(env, "halt"), map[string]bool{"halted": halted},
		nil)
}

// Prune implements Home.
func (c agentRemote) Prune(ctx context.Context, env string, remove bool) ([]Pruned, error) {
	out, err := client.Ask[prunedAgents](ctx, c.Conn, http.MethodPost, wire.EnvironmentPath(env, "agents/prune"),
		map[string]bool{"remove": remove})
	return out.Agents, err
}

// Collect implements Home.
func (c environmentRemote) Collect(
	ctx context.Context, env string, grace time.Duration,
) (deploy.Collected, error) {
	out, err := client.Ask[deploy.Collected](ctx, c.Conn, http.MethodPost, wire.EnvironmentPath(env, "gc"),
		map[string]int64{"grace_ms": grace.Milliseconds()})
	return out, client.IgnoreMissing(err)
}

// DryRun implements Home.
func (c comparisonRemote) DryRun(ctx context.Context, env string, version int, filter []string,
	whole bool) (deploy.DryRun, error) {
	asked := dryRunAsked{version, filter, whole}
	done, left, err := read(ctx, c.Conn, env, jobAsked{DryRun: &asked})
	if err != nil {
		return deploy.DryRun{Unread: left}, err
	}
	return gatherFrom(ctx, c.Conn, env, done)
}

// gatherFrom is gather with the parts of a server.
func gatherFrom(
	ctx context.Context, c *client.Conn, env string, done ReadDone,
) (deploy.DryRun, error) {
	return gather(done, func(hash string) (ResultPart[PlannedChange], error) {
		return client.Ask[ResultPart[PlannedChange]](
			ctx,
			c,
			http.MethodGet,
			wire.EnvironmentPath(env, "results/"+hash),
			nil,
		)
	})
}

// Environments implements Home.
func (c environmentRemote) Environments(ctx context.Context) ([]string, error) {
	return client.All[string](ctx, c.Conn, "/v1/environments")
}

// Forget implements Home.
func (c resourceRemote) Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error) {
	return client.Ask[Forgotten](ctx, c.Conn, http.MethodPost, wire.EnvironmentPath(env, "forget"), f)
}
