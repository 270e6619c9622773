package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func envPath(env, what string) string {
	return "/v1/environments/" + url.PathEscape(env) + "/" + what
}

// each calls f for the items of all pages.
func each[T any](
	ctx context.Context, c *connection, path string, q url.Values, f func(*T) error,
) error {
	for {
		var page Page[T]
		if err := c.call(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Set("cursor", page.Next)
	}
}

// eachIn calls f for the items of all pages of a list of an environment. If the environment does
// not exist, the list is empty.
func eachIn[T any](
	ctx context.Context, c *connection, path string, q url.Values, f func(*T) error,
) error {
	begun := false
	err := each(ctx, c, path, q, func(v *T) error {
		begun = true
		return f(v)
	})
	if begun {
		return err
	}
	return nothingThere(err)
}

// nothingThere returns nil for the error that there is no such environment.
func nothingThere(err error) error {
	if errors.As(err, new(remote)) && fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// allIn returns a list of an environment. If the environment does not exist, the list is empty.
func allIn[T any](ctx context.Context, c *connection, env, what string) ([]T, error) {
	var out []T
	err := eachIn(ctx, c, envPath(env, what), url.Values{"limit": {strconv.Itoa(maxPage)}},
		func(v *T) error {
			out = append(out, *v)
			return nil
		})
	return out, err
}

func all[T any](ctx context.Context, c *connection, path string) ([]T, error) {
	var out []T
	err := each(ctx, c, path, url.Values{"limit": {strconv.Itoa(maxPage)}}, func(v *T) error {
		out = append(out, *v)
		return nil
	})
	return out, err
}

// ask makes a request and returns the answer.
func ask[T any](ctx context.Context, c *connection, method, path string, in any) (T, error) {
	var v T
	err := c.call(ctx, method, path, in, &v)
	return v, err
}

// Progress implements Home. An environment that does not exist has no progress.
func (c environmentRemote) Progress(ctx context.Context, env string) (Progress, error) {
	p, err := ask[Progress](ctx, c.connection, http.MethodGet, envPath(env, "progress"), nil)
	if err != nil && nothingThere(err) == nil {
		return ProgressOf(env, deploy.Progress{}), nil
	}
	return p, err
}

// Health implements Home.
func (c resourceRemote) Health(ctx context.Context, env string) (Health, error) {
	h, err := ask[Health](ctx, c.connection, http.MethodGet, envPath(env, "health"), nil)
	return h, nothingThere(err)
}

// Resources implements Home.
func (c resourceRemote) Resources(
	ctx context.Context, env string, filter []string, f func(*Resource) error,
) error {
	return eachIn(ctx, c.connection, envPath(env, "resources"),
		url.Values{"filter": filter, "limit": {strconv.Itoa(maxPage)}}, f)
}

// Resource implements Home.
func (c resourceRemote) Resource(ctx context.Context, env string, id resource.ID) (Detail, error) {
	return ask[Detail](ctx, c.connection, http.MethodGet,
		envPath(env, "resources/"+segment(string(id))), nil)
}

// Versions implements Home.
func (c versionRemote) Versions(ctx context.Context, env string) ([]Version, error) {
	return allIn[Version](ctx, c.connection, env, "versions")
}

// Agents implements Home.
func (c agentRemote) Agents(ctx context.Context, env string) ([]Agent, error) {
	return allIn[Agent](ctx, c.connection, env, "agents")
}

// Types implements Home.
func (c typeRemote) Types(ctx context.Context) ([]Type, error) {
	return all[Type](ctx, c.connection, "/v1/types")
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
	_, err = get[OneParameter](ctx, c.connection, env, http.MethodPut, path, nil, body)
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
	return allIn[state.Parameter](ctx, c.connection, env, what)
}

// Parameter implements Home.
func (c parameterRemote) Parameter(ctx context.Context, env, name string) (state.Parameter, error) {
	return ask[state.Parameter](ctx, c.connection, http.MethodGet, parameterPath(env, name), nil)
}

// ParameterHistory implements Home.
func (c parameterRemote) ParameterHistory(
	ctx context.Context, env, name string,
) ([]state.ParameterChange, error) {
	var out []state.ParameterChange
	err := eachIn(ctx, c.connection, parameterPath(env, name)+history,
		url.Values{"limit": {strconv.Itoa(maxPage)}},
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
	return ask[state.Parameter](ctx, c.connection, http.MethodPut, parameterPath(env, name),
		map[string]string{"value": value})
}

// DeleteParameter implements Home.
func (c parameterRemote) DeleteParameter(ctx context.Context, env, name string) error {
	return c.call(ctx, http.MethodDelete, parameterPath(env, name), nil, nil)
}

func parameterPath(env, name string) string {
	return envPath(env, "parameters/"+segment(name))
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
		limit := maxPage
		if q.Limit > 0 {
			limit = min(limit, q.Limit-len(out))
		}
		v.Set("limit", strconv.Itoa(limit))
		var page Page[Action]
		err := c.call(ctx, http.MethodGet, envPath(env, "actions?")+v.Encode(), nil, &page)
		if err := nothingThere(err); err != nil {
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
	err := c.call(ctx, http.MethodPost, envPath(env, name),
		map[string]any{"filter": orEmpty(w.Filter), "retry_failed": w.RetryFailed}, &s)
	return s.Scheduled, nothingThere(err)
}

// Pause implements Home.
func (c agentRemote) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := mayNameAgents(agents); err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, envPath(env, "pause"),
		map[string]any{"agents": orEmpty(agents), "paused": paused}, nil)
}

// Halt implements Home.
func (c environmentRemote) Halt(ctx context.Context, env string, halted bool) error {
	return c.call(ctx, http.MethodPost, envPath(env, "halt"), map[string]bool{"halted": halted},
		nil)
}

// Prune implements Home.
func (c agentRemote) Prune(ctx context.Context, env string, remove bool) ([]Pruned, error) {
	out, err := ask[prunedAgents](ctx, c.connection, http.MethodPost, envPath(env, "agents/prune"),
		map[string]bool{"remove": remove})
	return out.Agents, err
}

// Collect implements Home.
func (c environmentRemote) Collect(
	ctx context.Context, env string, grace time.Duration,
) (deploy.Collected, error) {
	out, err := ask[deploy.Collected](ctx, c.connection, http.MethodPost, envPath(env, "gc"),
		map[string]int64{"grace_ms": grace.Milliseconds()})
	return out, nothingThere(err)
}

// DryRun implements Home.
func (c comparisonRemote) DryRun(ctx context.Context, env string, version int, filter []string,
	whole bool) (deploy.DryRun, error) {
	asked := dryRunAsked{version, filter, whole}
	done, left, err := read(ctx, c.connection, env, jobAsked{DryRun: &asked})
	if err != nil {
		return deploy.DryRun{Unread: left}, err
	}
	return gatherFrom(ctx, c.connection, env, done)
}

// gatherFrom is gather with the parts of a server.
func gatherFrom(
	ctx context.Context, c *connection, env string, done ReadDone,
) (deploy.DryRun, error) {
	return gather(done, func(hash string) (ResultPart[PlannedChange], error) {
		return ask[ResultPart[PlannedChange]](
			ctx,
			c,
			http.MethodGet,
			envPath(env, "results/"+hash),
			nil,
		)
	})
}

// Environments implements Home.
func (c environmentRemote) Environments(ctx context.Context) ([]string, error) {
	return all[string](ctx, c.connection, "/v1/environments")
}

// Forget implements Home.
func (c resourceRemote) Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error) {
	return ask[Forgotten](ctx, c.connection, http.MethodPost, envPath(env, "forget"), f)
}
