package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/patience"
)

// Call makes a request, retries it after temporary errors, and decodes the answer into out. All
// requests of the API may be repeated.
func (c *Conn) Call(ctx context.Context, method, path string, in, out any) error {
	if _, err := c.About(ctx); err != nil {
		return err
	}
	return c.try(ctx, c.Base, method, path, in, out)
}

// CallExport is call for the address of exports.
func (c *Conn) CallExport(ctx context.Context, method, path string, in, out any) error {
	if _, err := c.About(ctx); err != nil {
		return err
	}
	return c.try(ctx, c.ExportBase, method, path, in, out)
}

func (c *Conn) try(
	ctx context.Context, base *url.URL, method, path string, in, out any,
) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = wire.Encode(in); err != nil {
			return err
		}
	}
	return c.Retry(ctx, func() error { return c.attempt(ctx, base, method, path, body, out) })
}

// Passes reports whether an error of a server may be temporary.
func Passes(err error) bool {
	return (fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Busy)) &&
		!errors.As(err, new(noAnswerError))
}

// Retry calls f until it succeeds, fails permanently, or has been attempted often enough.
func (c *Conn) Retry(ctx context.Context, f func() error) error {
	pause := FirstPause
	for n := 1; ; n++ {
		err := f()
		if err == nil || n == maxTries || ctx.Err() != nil || !Passes(err) {
			return err
		}
		wait := pause/2 + rand.N(pause)
		var later retryAfter
		if errors.As(err, &later) {
			wait = max(wait, min(later.after, longPause))
		}
		if c.Clock.Sleep(ctx, wait) != nil {
			return fault.Wrap(fault.KindOf(context.Cause(ctx)), "", context.Cause(ctx))
		}
		pause = min(2*pause, longPause)
	}
}

// retryAfter is an error with the time after which the server accepts a retry.
type retryAfter struct {
	error
	after time.Duration
}

// Unwrap returns the error.
func (r retryAfter) Unwrap() error { return r.error }

func (c *Conn) attempt(
	ctx context.Context, base *url.URL, method, path string, body []byte, out any,
) error {
	return c.Request(ctx, base, method, path, nil, body, out)
}

// Request is once with additional headers.
func (c *Conn) Request(
	ctx context.Context, base *url.URL, method, path string, header http.Header, body []byte,
	out any,
) error {
	limit, reached := limitOf(method, path), &reach{}
	once, cancel := patience.WithTimeout(reached.watch(ctx), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(once, method, base.String()+path, bytes.NewReader(body))
	if err != nil {
		return fault.Wrap(fault.Usage, "ask "+base.Host, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, header)
	if message := wire.MessageOf(ctx); message != "" && !wire.Safe(method) {
		req.Header.Set(wire.MessageHeader, wire.EncodeMessage(message))
	}
	if c, _ := wire.CallerOf(ctx); c.User != "" && (c.Via == wire.ViaConsole || c.Via == wire.ViaProxy) &&
		!wire.Safe(method) {
		req.Header.Set(wire.UserHeader, wire.EncodeMessage(c.User))
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("User-Agent", cmp.Or(c.Program, "southbound"))
	resp, err := c.Http.Do(req)
	if err != nil {
		return c.Unreachable(ctx, base, limit, reached, err)
	}
	reached.answered.Store(true)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.Unreachable(ctx, base, limit, reached, err)
	}
	if resp.StatusCode/100 != 2 {
		return AnswerError(base.Host, resp, b)
	}
	if out == nil {
		return nil
	}
	if raw, is := out.(*[]byte); is {
		*raw = b
		return nil
	}
	return wire.Decode(b, out)
}

// AnswerError converts an answer to an error.
func AnswerError(host string, resp *http.Response, body []byte) error {
	err := failed(host, resp, body)
	if after, e := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); e == nil && after > 0 {
		return retryAfter{err, after}
	}
	return err
}

func failed(host string, resp *http.Response, body []byte) error {
	var p problem.ErrorBody
	if json.Unmarshal(body, &p) == nil && p.Err.Kind != "" && p.Err.Message != "" {
		return ServerError{p.Err}
	}
	e := fault.New(problem.KindOf(resp.StatusCode), "ask "+host, "the answer is %s%s", resp.Status,
		gatewayMessage(body))
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusUnauthorized:
		return e.WithHint("check the credentials, and their permission to invoke the function")
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return e.WithHint("check --api")
	case http.StatusTooManyRequests:
		return e.WithHint("retry later, or raise the account's limit of concurrent functions")
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return e.WithHint("check --api; read the log of the server, or of the proxy in front of it")
	}
	return e
}

// gatewayMessage returns the message of AWS about a request that reached no function, such as that of an
// expired token. Callers append it to an error. It is empty if the body has no message.
func gatewayMessage(body []byte) string {
	const most = 300
	var answer struct{ Message string } // "message" as well
	if json.Unmarshal(body, &answer) != nil || answer.Message == "" {
		return ""
	}
	text := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, answer.Message))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return ": " + string(text)
}

// ServerError is the error in a server's answer.
type ServerError struct{ problem.Failure }

// Error implements error.
func (r ServerError) Error() string { return r.Message }

// Unwrap returns the error with its kind and hint.
func (r ServerError) Unwrap() error { return r.AsError(nil) }
