package api

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
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/platform"
)

// ClientConfig defines the address of a server and how to reach it.
type ClientConfig struct {
	// URL is the address of the API, such as http://127.0.0.1:8300.
	URL string
	// Token is the bearer token, "" for none.
	Token string
	// Transport makes requests; nil: a copy of http.DefaultTransport.
	Transport http.RoundTripper
	// Sign, if not nil, returns a transport that signs requests for the region of a server which
	// requires signatures; region may be "".
	Sign func(ctx context.Context, host, region string) (http.RoundTripper, error)
	// Clock waits between attempts; nil: the clock of the system.
	Clock state.Clock
	// Program names the caller to the server.
	Program string
}

// Client sends requests to a server over HTTP: it has one part for each kind of resource. It is safe
// for concurrent use.
type Client struct {
	*connection
	environmentRemote
	typeRemote
	actionRemote
	agentRemote
	resourceRemote
	versionRemote
	exportRemote
	comparisonRemote
	parameterRemote
	offerRemote
	previewRemote
}

type (
	environmentRemote struct{ *connection }
	typeRemote        struct{ *connection }
	actionRemote      struct{ *connection }
	agentRemote       struct{ *connection }
	resourceRemote    struct{ *connection }
	versionRemote     struct{ *connection }
	exportRemote      struct{ *connection }
	comparisonRemote  struct{ *connection }
	parameterRemote   struct{ *connection }
	offerRemote       struct{ *connection }
	previewRemote     struct{ *connection }
)

// connection makes requests to a server: it signs them, and retries them after temporary errors.
type connection struct {
	ClientConfig
	base *url.URL
	http *http.Client // to the API
	bare *http.Client // to the addresses of uploads

	mu     sync.Mutex
	about  *Discovery
	signed http.RoundTripper
	export *url.URL
}

var _ Home = (*Client)(nil)

// NewClient returns a client. It makes no request before the first call.
func NewClient(c ClientConfig) (*Client, error) {
	x, err := newConnection(c)
	if err != nil {
		return nil, err
	}
	return &Client{x, environmentRemote{x}, typeRemote{x}, actionRemote{x}, agentRemote{x},
		resourceRemote{x}, versionRemote{x}, exportRemote{x}, comparisonRemote{x},
		parameterRemote{x}, offerRemote{x}, previewRemote{x}}, nil
}

// newConnection returns a connection. It makes no request before the first call.
func newConnection(c ClientConfig) (*connection, error) {
	base, err := serverURL(c.URL)
	if err != nil {
		return nil, err
	}
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 2 * uploaders
		c.Transport = t
	}
	if c.Clock == nil {
		c.Clock = platform.Clock{}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	x := &connection{ClientConfig: c, base: base, bare: &http.Client{Transport: c.Transport,
		CheckRedirect: stay}}
	x.http = &http.Client{Transport: roundTripper(x.roundTrip), CheckRedirect: stay}
	return x, nil
}

func serverURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		u.RawQuery != "" || u.User != nil {
		return nil, fault.New(fault.Usage, "", "this is not an address of an API").
			WithHint("write it such as http://127.0.0.1:8300")
	}
	return u, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Loopback reports whether an address of an API is on this machine.
func Loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	return loopback(u.Hostname())
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// functionURL reports whether a host is that of a function URL, which requires signatures.
func functionURL(host string) (region string, is bool) {
	name, ok := strings.CutSuffix(strings.ToLower(host), ".on.aws")
	_, rest, has := strings.Cut(name, ".lambda-url.")
	return rest, ok && has
}

// roundTrip adds the credentials of the caller.
func (c *connection) roundTrip(r *http.Request) (*http.Response, error) {
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
		return c.Transport.RoundTrip(r) // the client wraps it
	}
	if region, is := functionURL(r.URL.Hostname()); is {
		if err := c.sign(r.Context(), r.URL.Hostname(), region); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	via := c.signed
	c.mu.Unlock()
	if via == nil {
		via = c.Transport
	}
	return via.RoundTrip(r) // the client wraps it
}

// sign makes the connection sign later requests.
func (c *connection) sign(ctx context.Context, host, region string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.signed != nil {
		return nil
	}
	if c.Sign == nil {
		return fault.New(fault.Unsupported, "ask "+host,
			"the server wants requests that are signed with SigV4").
			WithHint("use the `southbound` program")
	}
	via, err := c.Sign(ctx, host, region)
	if err != nil {
		return err
	}
	c.signed = via
	return nil
}

// discover reads the description of the server once.
func (c *connection) discover(ctx context.Context) (Discovery, error) {
	c.mu.Lock()
	have := c.about
	c.mu.Unlock()
	if have != nil {
		return *have, nil
	}
	var d Discovery
	if err := c.try(ctx, c.base, http.MethodGet, "/", nil, &d); err != nil {
		return d, foreign(c.base.Host, err)
	}
	if d.Name != "southbound" || d.API != "v1" {
		return d, fault.New(fault.Foreign, "",
			"what answers at %s is not Southbound, or of another time", c.base.Host).
			WithHint("check --api")
	}
	var export *url.URL
	if d.ExportURL != "" {
		var err error
		if export, err = serverURL(d.ExportURL); err != nil {
			return d, err
		}
	}
	if d.Auth == AuthSigV4 && c.Token == "" {
		if err := c.sign(ctx, c.base.Hostname(), d.Region); err != nil {
			return d, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about, c.export = &d, cmp.Or(export, c.base)
	return d, nil
}

const (
	maxTries   = 6
	firstPause = 100 * time.Millisecond
	longPause  = 5 * time.Second
	maxAnswer  = 64 << 20
)

// Identity identifies the home in which the server keeps environments; "" if the server returns
// none.
func (c *connection) Identity(ctx context.Context) (string, error) {
	about, err := c.discover(ctx)
	return about.Home, err
}

// call makes a request, retries it after temporary errors, and decodes the answer into out. All
// requests of the API may be repeated.
func (c *connection) call(ctx context.Context, method, path string, in, out any) error {
	if _, err := c.discover(ctx); err != nil {
		return err
	}
	return c.try(ctx, c.base, method, path, in, out)
}

// callExport is call for the address of exports.
func (c *connection) callExport(ctx context.Context, method, path string, in, out any) error {
	if _, err := c.discover(ctx); err != nil {
		return err
	}
	return c.try(ctx, c.export, method, path, in, out)
}

func (c *connection) try(
	ctx context.Context, base *url.URL, method, path string, in, out any,
) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = encode(in); err != nil {
			return err
		}
	}
	return c.again(ctx, func() error { return c.once(ctx, base, method, path, body, out) })
}

// Passes reports whether an error of a server may be temporary.
func Passes(err error) bool {
	return (fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Busy)) &&
		!errors.As(err, new(silent))
}

// again calls f until it succeeds, fails permanently, or has been attempted often enough.
func (c *connection) again(ctx context.Context, f func() error) error {
	pause := firstPause
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

func (c *connection) once(
	ctx context.Context, base *url.URL, method, path string, body []byte, out any,
) error {
	return c.request(ctx, base, method, path, nil, body, out)
}

// request is once with additional headers.
func (c *connection) request(
	ctx context.Context, base *url.URL, method, path string, header http.Header, body []byte,
	out any,
) error {
	limit, far := limitOf(method, path), &reach{}
	once, cancel := patience.WithTimeout(far.watch(ctx), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(once, method, base.String()+path, bytes.NewReader(body))
	if err != nil {
		return fault.Wrap(fault.Usage, "ask "+base.Host, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("User-Agent", cmp.Or(c.Program, "southbound"))
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(ctx, base, limit, far, err)
	}
	far.answered.Store(true)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.unreachable(ctx, base, limit, far, err)
	}
	if resp.StatusCode/100 != 2 {
		return answered(base.Host, resp, b)
	}
	if out == nil {
		return nil
	}
	if raw, is := out.(*[]byte); is {
		*raw = b
		return nil
	}
	return decode(b, out)
}

// answered converts an answer to an error.
func answered(host string, resp *http.Response, body []byte) error {
	err := failed(host, resp, body)
	if after, e := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); e == nil && after > 0 {
		return retryAfter{err, after}
	}
	return err
}

func failed(host string, resp *http.Response, body []byte) error {
	var p ErrorBody
	if json.Unmarshal(body, &p) == nil && p.Err.Kind != "" && p.Err.Message != "" {
		return remote{p.Err}
	}
	e := fault.New(kindOf(resp.StatusCode), "ask "+host, "the answer is %s%s", resp.Status,
		saidBy(body))
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusUnauthorized:
		return e.WithHint("the server does not know who asks: check credentials, and their right " +
			"to invoke the function")
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return e.WithHint("check --api")
	case http.StatusTooManyRequests:
		return e.WithHint("as many functions as may run at once are at work; try again later, or " +
			"raise the limit of the account")
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return e.WithHint("check --api; the log of the server, or of what is before it, says more")
	}
	return e
}

// saidBy returns the message of AWS about a request that reached no function, such as that of an
// expired token. Callers append it to an error. It is empty if the body has no message.
func saidBy(body []byte) string {
	const most = 300
	var said struct{ Message string } // "message" as well
	if json.Unmarshal(body, &said) != nil || said.Message == "" {
		return ""
	}
	text := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, said.Message))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return ": " + string(text)
}

// remote is the error in a server's answer.
type remote struct{ Failure }

// Error implements error.
func (r remote) Error() string { return r.Message }

// Unwrap returns the error with its kind and hint.
func (r remote) Unwrap() error { return r.err(nil) }
