package parameters

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

type Remote struct{ *client.Conn }

// Suggest implements Home.
func (c Remote) Suggest(ctx context.Context, env, name string, values []any) error {
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
func (c Remote) Parameters(
	ctx context.Context, env string, facts bool,
) ([]state.Parameter, error) {
	if !facts {
		return client.AllIn[state.Parameter](ctx, c.Conn, env, "parameters")
	}
	all, err := client.AllIn[Fact](ctx, c.Conn, env, "facts")
	if err != nil {
		return nil, err
	}
	return storedFacts(all)
}

// ParametersPage implements Home.
func (c Remote) ParametersPage(
	ctx context.Context, env string, q Query,
) (paging.Page[state.Parameter], error) {
	v := q.Values()
	client.Set(v, "prefix", q.Prefix)
	if !q.Facts {
		return client.Page[state.Parameter](ctx, c.Conn, env, "parameters", v)
	}
	client.Set(v, "resource", string(q.Resource))
	page, err := client.Page[Fact](ctx, c.Conn, env, "facts", v)
	if err != nil {
		return paging.Page[state.Parameter]{}, err
	}
	items, err := storedFacts(page.Items)
	return paging.Page[state.Parameter]{Items: items, Next: page.Next, Count: page.Count}, err
}

// Parameter implements Home.
func (c Remote) Parameter(ctx context.Context, env, name string) (state.Parameter, error) {
	return client.Ask[state.Parameter](ctx, c.Conn, http.MethodGet, parameterPath(env, name), nil)
}

// ParameterHistory implements Home.
func (c Remote) ParameterHistory(
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
func (c Remote) SetParameter(
	ctx context.Context, env, name, value string,
) (state.Parameter, error) {
	if err := checkValue(name, value); err != nil { // JSON would change it
		return state.Parameter{}, err
	}
	return client.Ask[state.Parameter](ctx, c.Conn, http.MethodPut, parameterPath(env, name),
		map[string]string{"value": value})
}

// DeleteParameter implements Home.
func (c Remote) DeleteParameter(ctx context.Context, env, name string) error {
	return c.Call(ctx, http.MethodDelete, parameterPath(env, name), nil, nil)
}

func parameterPath(env, name string) string {
	return wire.EnvironmentPath(env, "parameters/"+wire.Segment(name))
}
