package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/resource"
	conn "southbound/shared/transport/http"
)

// api creates, updates and deletes the object of one resource.
type api struct{ reader }

// reader reads the object, and describes it.
type reader struct{ caller }

// caller makes requests for the object.
type caller struct {
	ctx   *provider.Context
	conn  *conn.Conn
	want  provider.Resource
	scope *scope
	// hidden has the secrets in all their forms; concealed has the secrets themselves.
	hidden    redact.Set
	concealed []string
	// arrived: the last request may have reached the API.
	arrived bool
}

func newAPI(ctx *provider.Context, r provider.Resource) (*api, error) {
	c, ok := ctx.Transport().(*conn.Conn)
	if !ok {
		return nil, provider.Errorf(provider.NeedsChange,
			`the agent's transport does not reach an API; describe it as {transport: http, url: "https://..."}`)
	}
	a := &api{reader{caller{ctx: ctx, conn: c, want: r, scope: newScope(r)}}}
	for n := range a.scope.secret {
		if t, ok := a.scope.values[n].(string); ok && a.scope.secret[n] {
			a.conceal(t)
		}
	}
	a.conceal(c.Secrets()...)
	kept, err := a.outputs().remembered()
	a.concealValue(kept)
	return a, err
}

// conceal removes secrets from all output.
func (a *caller) conceal(secrets ...string) {
	for _, s := range secrets {
		if slices.Contains(a.concealed, s) {
			continue
		}
		a.concealed = append(a.concealed, s)
		a.ctx.Secret(s)
		a.hidden.Add(s)
	}
}

// text returns a text attribute, "" for any other.
func (a *caller) text(name string) string {
	s, _ := a.want.Attributes[name].(string)
	return s
}

// answer is the answer of an API.
type answer struct {
	*conn.Response
	path string
}

// ok reports whether the request succeeded.
func (r *answer) ok() bool { return r.Status >= 200 && r.Status < 300 }

// done reports whether a change succeeded: the API may answer with the path of the result.
func (r *answer) done() bool {
	return r.ok() || r.Status == http.StatusSeeOther && r.Header.Get("Location") != ""
}

// declined reports whether the API has rejected the request without an effect.
func (r *answer) declined() bool {
	return r.Status/100 == 4 && r.Status != http.StatusRequestTimeout
}

// missing reports whether the requested object does not exist.
func (r *answer) missing() bool {
	return r.Status == http.StatusNotFound || r.Status == http.StatusGone
}

// json returns the body as a value; nil if it is empty.
func (r *answer) json() (any, error) {
	if len(bytes.TrimSpace(r.Body)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, provider.Errorf(provider.NeedsChange,
			"the response to %s is not JSON (%s)", r.path, r.Header.Get("Content-Type"))
	}
	v, err := resource.FromGo(v)
	if err != nil {
		return nil, provider.Errorf(provider.NeedsChange,
			"the response to %s holds an unsupported value: %w", r.path, err)
	}
	return v, nil
}

// call makes a request; body is nil for none.
func (a *caller) call(method, path string, body any, key, match string) (*answer, error) {
	a.arrived = false
	req := conn.Request{Method: method, Path: path, Key: key,
		Header: http.Header{"Accept": {"application/json"}}}
	if body != nil {
		b, err := encode(body)
		if err != nil {
			return nil, err
		}
		req.Body = b
		req.Header.Set("Content-Type", "application/json")
	}
	if match != "" {
		req.Header.Set("If-Match", match)
	}
	headers, err := a.scope.forHeaders().object(a.want.Attributes["headers"])
	if err != nil {
		return nil, err
	}
	for name, v := range headers {
		text, ok := v.(string)
		if !ok || strings.ContainsAny(text+name, "\r\n\x00") {
			return nil, provider.Errorf(provider.NeedsChange,
				"the header %q is not text on one line", name)
		}
		req.Header.Set(name, text)
	}
	res, err := a.conn.Do(a.ctx, req)
	a.arrived = !errors.Is(err, provider.ErrNothingMade)
	a.conceal(a.conn.Secrets()...) // a token may have been renewed
	if err != nil {
		return nil, a.wayError(method, path, err)
	}
	a.ctx.Debug("asked the API", "method", method, "path", path, "status", res.Status)
	return &answer{res, path}, nil
}

// encode encodes a body. Numbers of documents keep their written form.
func encode(v any) ([]byte, error) {
	for _, ref := range resource.References(v) {
		if _, ok := ref.(resource.File); ok {
			return nil, provider.Errorf(provider.NeedsChange,
				"an uploaded file cannot be part of a body")
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, provider.Errorf(provider.NeedsChange, "the body cannot be written as JSON: %w",
			err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// wayError classifies an error of the connection.
func (a *caller) wayError(method, path string, err error) error {
	class := provider.Retryable
	switch fault.KindOf(err) {
	case fault.Invalid:
		class = provider.NeedsChange
	case fault.Denied:
		class = provider.Terminal
	}
	text := a.redact(err.Error())
	if h := fault.HintOf(err); h != "" {
		text += "; " + h
	}
	if err := a.ctx.Err(); err != nil {
		return provider.Errorf(class, "%s %s: %w", method, path, err)
	}
	return provider.Errorf(class, "%s %s: %s", method, path, text)
}

// refused is the error of an unexpected answer.
func (a *caller) refused(method string, r *answer) error {
	text := fmt.Sprintf("%s %s: the API answers %d %s", method, r.path, r.Status,
		http.StatusText(r.Status))
	if excerpt := a.excerpt(r.Body); excerpt != "" {
		text += ": " + excerpt
	}
	class, hint := classOf(r.Status)
	if at := r.Header.Get("Location"); r.Status/100 == 3 && at != "" {
		text += " (to " + clean(a.redact(at), 200) + ")"
	}
	if hint != "" {
		text += "; " + hint
	}
	return provider.Errorf(class, "%s", text)
}

// classOf returns the class and the hint that follow from a status.
func classOf(status int) (class provider.Class, hint string) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return provider.Terminal, "check the credentials of the agent and their permissions"
	case http.StatusPaymentRequired, http.StatusInsufficientStorage:
		return provider.Terminal, ""
	case http.StatusNotFound, http.StatusGone, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusPreconditionFailed, http.StatusLocked, http.StatusFailedDependency,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return provider.Retryable, ""
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return provider.NeedsChange, "check the attributes of methods and paths"
	}
	switch status / 100 {
	case 3:
		return provider.NeedsChange, "give the agent the url that it leads to"
	case 4:
		return provider.NeedsChange, ""
	}
	return provider.Retryable, ""
}

// maxExcerpt is how many bytes of an answer errors show.
const maxExcerpt = 500

// maxCleaned is how many bytes of an answer are redacted for an excerpt.
const maxCleaned = 64 << 10

// excerpt returns the beginning of an answer, without secrets. It redacts secrets before it
// truncates the text, so that no part of a secret remains.
func (a *caller) excerpt(body []byte) string {
	text := string(body)
	if len(body) > maxCleaned {
		text = string(body[:maxCleaned]) + "…" // by which redaction knows of the cut
	}
	return clean(a.redact(text), maxExcerpt)
}

func (a *caller) redact(s string) string { return a.hidden.Clean(s, diff.Redacted) }

// clean returns a text on one line, truncated.
func clean(s string, limit int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"),
		func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
