package http

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/redact"
)

// Of returns the connection of a handler's agent. From then on, the secrets of the agent are
// redacted in all output of the run. The error is NeedsChange if the agent has another transport.
func Of(ctx *provider.Context) (*Conn, error) {
	c, ok := ctx.Transport().(*Conn)
	if !ok {
		return nil, provider.Errorf(provider.NeedsChange,
			`the agent's transport does not reach an API; describe it as {transport: http, url: "https://..."}`)
	}
	for _, s := range c.Secrets() {
		ctx.Secret(s)
	}
	return c, nil
}

// Path joins segments to a path, each escaped: Path("users", "a/b") is /users/a%2Fb.
func Path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// Call makes a request to the agent's API. If in is not nil, it is sent as JSON. If out is not nil,
// it receives the JSON of the answer; where out permits any value, that has a type of attributes.
// If the object to read or delete does not exist (404, 410), found is false, and err nil. A POST or
// PATCH is retried after network errors only if the agent's idempotency_header makes that harmless;
// each call has a key of its own. Errors have the class that follows from the answer, and show the
// beginning of the API's text.
func Call(ctx *provider.Context, method, path string, in, out any) (found bool, err error) {
	c, err := Of(ctx)
	if err != nil {
		return false, err
	}
	req := Request{Method: method, Path: path, Header: http.Header{"Accept": {"application/json"}},
		Key: rand.Text()}
	if in != nil {
		if req.Body, err = json.Marshal(in); err != nil {
			return false, provider.Errorf(provider.NeedsChange,
				"%s %s: the body cannot be written as JSON: %w", method, path, err)
		}
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.Do(ctx, req)
	for _, s := range c.Secrets() { // a token may have been renewed
		ctx.Secret(s)
	}
	if err != nil {
		return false, wayClass(method, path, err)
	}
	ctx.Debug("asked the API", "method", method, "path", path, "status", res.Status)
	asks := method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete
	switch {
	case asks && (res.Status == http.StatusNotFound || res.Status == http.StatusGone):
		return false, nil
	case res.Status < 200 || res.Status > 299:
		return false, provider.Errorf(statusClass(res.Status), "%s %s: the API answers %d %s: %s",
			method, path, res.Status, http.StatusText(res.Status), beginning(res.Body, c.Secrets()))
	case out == nil || len(bytes.TrimSpace(res.Body)) == 0:
		return true, nil
	}
	d := json.NewDecoder(bytes.NewReader(res.Body))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return false, provider.Errorf(provider.NeedsChange,
			"%s %s: the API answers with something else than expected: %w", method, path, err)
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.Pointer && !v.IsNil() {
		plain(v.Elem())
	}
	return true, nil
}

// plain converts decoded numbers to values of attributes, wherever any value may occur.
func plain(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if n, ok := v.Interface().(json.Number); ok && v.CanSet() {
			v.Set(reflect.ValueOf(number(n)))
			return
		}
		plain(v.Elem())
	case reflect.Pointer:
		plain(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			plain(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			plain(v.Field(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item := v.MapIndex(key)
			if item.Kind() != reflect.Interface {
				plain(item) // the pointer's target
				continue
			}
			if n, ok := item.Interface().(json.Number); ok && item.Type().NumMethod() == 0 {
				v.SetMapIndex(key, reflect.ValueOf(number(n)))
				continue
			}
			plain(item)
		}
	}
}

// number converts a number to the type of attributes: int64, beyond that *big.Int, and float64 for
// a fraction or an exponent.
func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	if i, ok := new(big.Int).SetString(n.String(), 10); ok {
		return i
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return n.String() // a number that a float64 cannot hold
}

// wayClass classifies an error of the connection.
func wayClass(method, path string, err error) error {
	class := provider.Retryable
	switch fault.KindOf(err) {
	case fault.Invalid:
		class = provider.NeedsChange
	case fault.Denied:
		class = provider.Terminal
	}
	if hint := fault.HintOf(err); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return provider.Errorf(class, "%s %s: %w", method, path, err)
}

// statusClass returns the class that follows from a status.
func statusClass(status int) provider.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusPaymentRequired, http.StatusInsufficientStorage:
		return provider.Terminal
	case http.StatusNotFound, http.StatusGone, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusPreconditionFailed, http.StatusLocked,
		http.StatusFailedDependency, http.StatusTooEarly, http.StatusTooManyRequests:
		return provider.Retryable
	}
	if status >= 300 && status < 500 || status == http.StatusNotImplemented {
		return provider.NeedsChange
	}
	return provider.Retryable
}

// maxShown is how many characters of an answer errors show.
const maxShown = 300

// beginning returns the first part of an answer, on one line and without secrets.
func beginning(body []byte, secrets []string) string {
	text := strings.ToValidUTF8(string(body[:min(len(body), 64<<10)]), "?")
	var hidden redact.Set
	for _, s := range secrets {
		hidden.Add(s)
	}
	text = hidden.Clean(text, diff.Redacted)
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return string(r)
}
