// Package furl serves an http.Handler behind a Lambda function URL in buffered mode: events have
// payload format 2.0, and a response is one object. The runtime's own package lambdaurl only
// streams, and the adapters for API Gateway depend on every web framework.
package furl

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"southbound/shared/fault"
)

// maxAnswer is the largest body, in bytes, that fits into a response of Lambda in base64.
const maxAnswer = 4 << 20

// Request converts an event into an HTTP request. If the event is not one of a function URL,
// Request returns a fault.Invalid.
func Request(ctx context.Context, e *events.LambdaFunctionURLRequest) (*http.Request, error) {
	method := e.RequestContext.HTTP.Method
	if method == "" || !strings.HasPrefix(e.RawPath, "/") {
		return nil, fault.New(fault.Invalid, "read event", "it is not a request of a function URL")
	}
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, fault.Wrap(fault.Invalid, "read event", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read event", err)
	}
	req.URL = &url.URL{Path: e.RawPath, RawQuery: e.RawQueryString}
	// RawPath is escaped, as the client sent it.
	if path, err := url.PathUnescape(e.RawPath); err == nil {
		req.URL.Path, req.URL.RawPath = path, e.RawPath
	}
	for name, value := range e.Headers { // Lambda joins repeated headers with commas
		req.Header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		req.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	req.RequestURI, req.Host = req.URL.RequestURI(), e.RequestContext.DomainName
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	req.RemoteAddr = e.RequestContext.HTTP.SourceIP
	return req, nil
}

// Handle serves an event with h, and returns the response. If h panics, the process ends, as
// everywhere in a function.
func Handle(
	ctx context.Context, h http.Handler, e *events.LambdaFunctionURLRequest,
) *events.LambdaFunctionURLResponse {
	req, err := Request(ctx, e)
	if err != nil {
		return problem(http.StatusBadRequest, "the event is not a request")
	}
	w := &writer{header: http.Header{}}
	h.ServeHTTP(w, req)
	if w.body.Len() > maxAnswer {
		return problem(http.StatusInsufficientStorage,
			"the answer is larger than a function may send; ask for less, or for pages")
	}
	return w.answer()
}

func problem(status int, detail string) *events.LambdaFunctionURLResponse {
	// plain values: it never fails
	body, _ := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status,
		"detail": detail})
	return &events.LambdaFunctionURLResponse{StatusCode: status,
		Headers: map[string]string{"content-type": "application/problem+json"}, Body: string(body)}
}

// writer collects a response.
type writer struct {
	header http.Header
	sent   http.Header // a copy of the headers from the time of WriteHeader
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Informational statuses cannot be sent.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status, w.sent = status, w.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		if w.header.Get("Content-Type") == "" {
			w.header.Set("Content-Type", http.DetectContentType(b))
		}
		w.WriteHeader(http.StatusOK)
	}
	return w.body.Write(b)
}

// Flush implements http.Flusher. It does nothing: the buffer is sent at the end.
func (w *writer) Flush() {}

func (w *writer) answer() *events.LambdaFunctionURLResponse {
	w.WriteHeader(http.StatusOK)
	out := &events.LambdaFunctionURLResponse{StatusCode: w.status, Headers: map[string]string{}}
	for name, values := range w.sent {
		if name == "Set-Cookie" {
			out.Cookies = values
			continue
		}
		out.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if body := w.body.Bytes(); plain(out.Headers) && utf8.Valid(body) {
		out.Body = string(body)
	} else {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return out
}

// plain reports whether a body is text that JSON can contain unencoded.
func plain(header map[string]string) bool {
	if header["content-encoding"] != "" {
		return false
	}
	kind, _, err := mime.ParseMediaType(header["content-type"])
	return err == nil && (strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") ||
		strings.HasSuffix(kind, "yaml") ||
		strings.HasSuffix(kind, "xml") || strings.HasSuffix(kind, "javascript"))
}
