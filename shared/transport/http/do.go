package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/platform"
	"southbound/shared/provider"
)

// Request is one request to an API.
type Request struct {
	Method string // "": GET
	Path   string // escaped, with or without a query, below the base URL: /things/a%2Fb?full=1
	Header http.Header
	Body   []byte
	// Key makes a repeated request harmless if the agent names the API's header for it; "": no key.
	Key string
}

// Response is the answer of an API, with any status.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	TLS    *tls.ConnectionState
	Proto  string
}

// Do makes a request and retries it if a retry is harmless and may succeed. It retries network
// errors, 408, 425, 429, 502, 503 and 504, for methods that are idempotent or requests with a key.
// It retries for as long as the agent's retry permits, and waits for the API's Retry-After. Any
// status is an answer, not an error. Errors concern the connection: Unavailable, Timeout, Denied
// (certificates), Canceled, and Invalid for a wrong path or an answer that is too long. An error
// that is also provider.ErrNothingMade means that no attempt has arrived.
func (c *Conn) Do(ctx context.Context, req Request) (*Response, error) {
	in := c.session
	target, err := in.target(req.Path)
	if err != nil {
		return nil, provider.With(err, provider.ErrNothingMade)
	}
	if req.Method == "" {
		req.Method = http.MethodGet
	}
	retry := time.Duration(in.settings.retry) * time.Second
	tries, done := patience.WithTimeout(context.Background(), retry)
	defer done()
	arrived := false
	never := func(err error) error {
		if arrived {
			return err
		}
		return provider.With(err, provider.ErrNothingMade)
	}
	last := "" // why the last attempt is retried
	ended := func() error {
		if last == "" {
			return never(fmt.Errorf("call the API: %w", fault.Ended(ctx)))
		}
		return never(fmt.Errorf("call the API: %w; before that: %s", fault.Ended(ctx), last))
	}
	for try := 0; ; try++ {
		if err := in.limit.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, ended()
			}
			return nil, never(fault.New(fault.Unavailable, "call the API",
				"the rate of the agent leaves no room for the request in time"))
		}
		res, sent, err := in.once(ctx, target, req)
		if err != nil {
			in.verified.Store(0)
		}
		arrived = arrived || sent
		if ctx.Err() != nil {
			return nil, ended()
		}
		if !again(res, err) || sent && !in.repeatable(req) {
			return res, never(err)
		}
		pause := backoff(try)
		if asked, ok := retryAfter(res); ok {
			pause = max(pause, asked)
		}
		if left, _ := patience.Left(tries); left < pause {
			return res, never(err)
		}
		if last = "the API answers " + statusText(res); err != nil {
			last = err.Error()
		}
		provider.Waits(ctx, last)
		if (platform.Clock{}).Sleep(ctx, pause) != nil {
			return nil, ended()
		}
	}
}

// statusText returns the name of the status of an answer, "" without an answer.
func statusText(res *Response) string {
	if res == nil {
		return ""
	}
	return http.StatusText(res.Status)
}

// target returns the URL of a path. The URL is always below the base URL.
func (in *session) target(path string) (*url.URL, error) {
	path, query, _ := strings.Cut(path, "?")
	bad := func() (*url.URL, error) {
		return nil, fault.New(fault.Invalid, "call the API", "%q is not a path below the base URL",
			path).WithHint("begin with /, and leave out . and ..")
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "#\\") || dotted(path) {
		return bad()
	}
	base := *in.settings.base
	base.RawQuery, base.Fragment = "", ""
	u, err := url.Parse(strings.TrimSuffix(base.String(), "/") + path)
	if err != nil || !sameOrigin(u, in.settings.base) {
		return bad()
	}
	u.RawQuery = query
	return u, nil
}

// Below returns the path below the base URL to which a link of the API, such as a Location header,
// leads; ok is false if the link leads elsewhere.
func (c *Conn) Below(link, from string) (path string, ok bool) {
	base, err := c.session.target(from)
	if err != nil {
		return "", false
	}
	u, err := base.Parse(link)
	if err != nil || !sameOrigin(u, c.session.settings.base) {
		return "", false
	}
	path, ok = strings.CutPrefix(u.EscapedPath(),
		strings.TrimSuffix(c.session.settings.base.EscapedPath(), "/"))
	return path, ok && strings.HasPrefix(path, "/") && !dotted(path)
}

// once makes a request. sent is false if it is certain that no byte arrived.
func (in *session) once(
	ctx context.Context, target *url.URL, r Request,
) (res *Response, sent bool, err error) {
	s := in.settings
	ctx, cancel := patience.WithTimeoutCause(ctx, time.Duration(s.timeout)*time.Second, errSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, target.String(), body(r.Body))
	if err != nil {
		return nil, false, fault.Wrap(fault.Invalid, "call the API", err)
	}
	if len(r.Body) == 0 {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
	}
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("User-Agent", "southbound")
	if r.Key != "" && s.idempotencyHeader != "" {
		req.Header.Set(s.idempotencyHeader, r.Key)
	}
	answer, err := in.own.Do(req)
	if err != nil {
		return nil, !neverSent(err), wayError(ctx, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, s.maxBody+1))
	if err != nil {
		return nil, true, wayError(ctx, err)
	}
	if int64(len(text)) > s.maxBody {
		return nil, true, fault.New(fault.Invalid, "call the API",
			"the answer is longer than %d bytes", s.maxBody).
			WithHint("give the agent a larger max_body")
	}
	return &Response{Status: answer.StatusCode, Header: answer.Header, Body: text, TLS: answer.TLS,
		Proto: answer.Proto}, true, nil
}

var errSlow = errors.New("there was no answer in the time that the agent's timeout gives")

// neverSent reports whether a request failed before any of its bytes were sent.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.Is(err, errToken) || errors.As(err, &op) && op.Op == "dial"
}

// wayError classifies an error of the connection. The result has no URL, which may contain a
// secret.
func wayError(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var tlsErr *tls.CertificateVerificationError
	var alert tls.AlertError
	var header tls.RecordHeaderError
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return fault.Wrap(fault.Timeout, "call the API", errSlow)
	case fault.Is(err, fault.Denied), errors.Is(err, errToken): // see guard and tokens
		return err
	case errors.As(err, &tlsErr), errors.As(err, new(x509.UnknownAuthorityError)),
		errors.As(err, new(x509.HostnameError)), errors.As(err, new(x509.CertificateInvalidError)):
		e := &fault.Error{Kind: fault.Denied, Op: "call the API", Err: err}
		return e.WithHint("give the agent the authority in ca, or the name in server_name")
	case errors.As(err, &alert):
		e := &fault.Error{Kind: fault.Denied, Op: "call the API", Err: err}
		return e.WithHint("see which client certificates the server takes")
	case errors.As(err, &header):
		e := &fault.Error{Kind: fault.Invalid, Op: "call the API", Err: err}
		return e.WithHint("the server does not speak TLS there; see the url of the agent")
	}
	return fault.Wrap(fault.Unavailable, "call the API", err)
}

// again reports whether an answer or error may be temporary.
func again(res *Response, err error) bool {
	if err != nil {
		k := fault.KindOf(err)
		return k == fault.Unavailable || k == fault.Timeout
	}
	return slices.Contains([]int{408, 425, 429, 502, 503, 504}, res.Status)
}

// Repeats reports whether the agent's options make a request with a key harmless to repeat.
func (c *Conn) Repeats() bool { return c.session.settings.idempotencyHeader != "" }

// repeatable reports whether a request may be made twice.
func (in *session) repeatable(r Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return true
	}
	return r.Key != "" && in.settings.idempotencyHeader != ""
}

// backoff is how long to wait after an attempt, counted from 0: exponential up to some seconds,
// with jitter.
func backoff(try int) time.Duration {
	const first, limit = 200 * time.Millisecond, 5 * time.Second
	d := min(first<<min(try, 10), limit)
	return d/2 + rand.N(d/2) // not security-relevant
}

// retryAfter parses the wait that an API asks for.
func retryAfter(res *Response) (time.Duration, bool) {
	if res == nil {
		return 0, false
	}
	text := res.Header.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0), true
	}
	return 0, false
}

// verifiedFor is how long a verified connection counts as good, unless a request fails in that
// time.
const verifiedFor = 30 * time.Second

// Verify implements provider.Verifier: it reads the probe path. If the agent names no path, any
// answer is accepted. Otherwise the answer must not reject the credentials, nor report that the API
// is unavailable. Sessions share the result.
func (c *Conn) Verify(ctx context.Context) error {
	if at := c.session.verified.Load(); at != 0 && time.Since(time.Unix(0, at)) < verifiedFor {
		return nil
	}
	_, err := c.probe(ctx)
	if err == nil {
		c.session.verified.Store(time.Now().UnixNano())
	}
	return err
}

func (c *Conn) probe(ctx context.Context) (*Response, error) {
	res, err := c.Do(ctx, Request{Path: cmp.Or(c.session.settings.probe, "/")})
	switch {
	case err != nil:
		return nil, err
	case c.session.settings.probe == "":
		return res, nil
	case res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden:
		return nil, fault.New(fault.Denied, "verify the connection", "the API answers %d to %s",
			res.Status, c.session.settings.probe).
			WithHint("see the credentials of the agent, or give it a probe that it may read")
	case res.Status >= 500 || res.Status == http.StatusTooManyRequests:
		return nil, fault.New(fault.Unavailable, "verify the connection",
			"the API answers %d to %s", res.Status, c.session.settings.probe)
	}
	return res, nil
}

// Facts returns facts about the API's server: http.server, http.protocol, and with TLS tls.version
// and tls.certificate.until (RFC 3339).
func (c *Conn) Facts(ctx context.Context) (map[string]string, error) {
	res, err := c.probe(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"http.protocol": res.Proto}
	if s := res.Header.Get("Server"); s != "" {
		out["http.server"] = s
	}
	if t := res.TLS; t != nil {
		out["tls.version"] = tls.VersionName(t.Version)
		if len(t.PeerCertificates) > 0 {
			out["tls.certificate.until"] = t.PeerCertificates[0].NotAfter.UTC().Format(time.RFC3339)
		}
	}
	return out, nil
}
