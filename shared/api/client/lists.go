package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"southbound/shared/api/paging"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
)

// Get makes a request, retries it after temporary errors, and returns the answer.
func Get[T any](
	ctx context.Context, c *Conn, env, method, path string, q url.Values, in any,
) (T, error) {
	return GetBy[T](ctx, c, c.Retry, env, method, path, q, in)
}

// GetBy is get for a request that a function makes.
func GetBy[T any](
	ctx context.Context, c *Conn, by func(context.Context, func() error) error,
	env, method, path string, q url.Values, in any,
) (T, error) {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	var body, answered []byte
	var v T
	if in != nil {
		var err error
		if body, err = wire.Encode(in); err != nil {
			return v, err
		}
	}
	if _, err := c.About(ctx); err != nil {
		return v, err
	}
	err := by(ctx, func() error {
		return c.Request(ctx, c.Base, method, path, http.Header{wire.TenantHeader: {env}}, body, &answered)
	})
	if err != nil {
		return v, err
	}
	d := json.NewDecoder(bytes.NewReader(answered))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return v, fault.Wrap(fault.Foreign, "read the answer of "+c.Base.Host, err)
	}
	return v, nil
}

// GetData is get for an answer that is wrapped in data.
func GetData[T any](
	ctx context.Context, c *Conn, env, method, path string, q url.Values, in any,
) (T, error) {
	d, err := Get[Data[T]](ctx, c, env, method, path, q, in)
	return d.Data, err
}

// Each calls f for the items of all pages.
func Each[T any](
	ctx context.Context, c *Conn, path string, q url.Values, f func(*T) error,
) error {
	for {
		var page paging.Page[T]
		if err := c.Call(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &page); err != nil {
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

// EachIn calls f for the items of all pages of a list of an environment. If the environment does
// not exist, the list is empty.
func EachIn[T any](
	ctx context.Context, c *Conn, path string, q url.Values, f func(*T) error,
) error {
	begun := false
	err := Each(ctx, c, path, q, func(v *T) error {
		begun = true
		return f(v)
	})
	if begun {
		return err
	}
	return IgnoreMissing(err)
}

// IgnoreMissing returns nil for the error that there is no such environment.
func IgnoreMissing(err error) error {
	if errors.As(err, new(ServerError)) && fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// AllIn returns a list of an environment. If the environment does not exist, the list is empty.
func AllIn[T any](ctx context.Context, c *Conn, env, what string) ([]T, error) {
	var out []T
	err := EachIn(ctx, c, wire.EnvironmentPath(env, what), url.Values{"limit": {strconv.Itoa(paging.MaxItems)}},
		func(v *T) error {
			out = append(out, *v)
			return nil
		})
	return out, err
}

// Page returns a page of a list of an environment.
func Page[T any](
	ctx context.Context, c *Conn, env, what string, q url.Values,
) (paging.Page[T], error) {
	var page paging.Page[T]
	err := c.Call(ctx, http.MethodGet, wire.EnvironmentPath(env, what)+"?"+q.Encode(), nil, &page)
	return page, err
}

// Set sets a parameter of a request, unless its value is empty.
func Set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func All[T any](ctx context.Context, c *Conn, path string) ([]T, error) {
	var out []T
	err := Each(ctx, c, path, url.Values{"limit": {strconv.Itoa(paging.MaxItems)}}, func(v *T) error {
		out = append(out, *v)
		return nil
	})
	return out, err
}

// Ask makes a request and returns the answer.
func Ask[T any](ctx context.Context, c *Conn, method, path string, in any) (T, error) {
	var v T
	err := c.Call(ctx, method, path, in, &v)
	return v, err
}

// Data wraps the answers about services.
type Data[T any] struct {
	Data T `json:"data"`
}
