package client

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
)

// Config defines the address of a server and how to reach it.
type Config struct {
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

// Conn makes requests to a server: it signs them, and retries them after temporary errors.
type Conn struct {
	Config
	Base *url.URL
	Http *http.Client // to the API
	Bare *http.Client // to the addresses of uploads

	mu         sync.Mutex
	about      *wire.Discovery
	signed     http.RoundTripper
	ExportBase *url.URL
}

// New returns a connection. It makes no request before the first call.
func New(c Config) (*Conn, error) {
	base, err := ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 2 * Uploaders
		c.Transport = t
	}
	if c.Clock == nil {
		c.Clock = platform.Clock{}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	x := &Conn{Config: c, Base: base, Bare: &http.Client{Transport: c.Transport,
		CheckRedirect: stay}}
	x.Http = &http.Client{Transport: roundTripper(x.roundTrip), CheckRedirect: stay}
	return x, nil
}

func ParseURL(text string) (*url.URL, error) {
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
func (c *Conn) roundTrip(r *http.Request) (*http.Response, error) {
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
func (c *Conn) sign(ctx context.Context, host, region string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.signed != nil {
		return nil
	}
	if c.Sign == nil {
		return fault.New(fault.Unsupported, "ask "+host,
			"the server requires requests signed with SigV4").
			WithHint("use the `southbound` program")
	}
	via, err := c.Sign(ctx, host, region)
	if err != nil {
		return err
	}
	c.signed = via
	return nil
}

// About reads the description of the server once.
func (c *Conn) About(ctx context.Context) (wire.Discovery, error) {
	c.mu.Lock()
	have := c.about
	c.mu.Unlock()
	if have != nil {
		return *have, nil
	}
	var d wire.Discovery
	if err := c.try(ctx, c.Base, http.MethodGet, "/", nil, &d); err != nil {
		return d, notSouthbound(c.Base.Host, err)
	}
	if d.Name != "southbound" || d.API != "v1" {
		return d, fault.New(fault.Foreign, "",
			"the server at %s is not Southbound, or of an incompatible version", c.Base.Host).
			WithHint("check --api")
	}
	var export *url.URL
	if d.ExportURL != "" {
		var err error
		if export, err = ParseURL(d.ExportURL); err != nil {
			return d, err
		}
	}
	if d.Auth == wire.AuthSigV4 && c.Token == "" {
		if err := c.sign(ctx, c.Base.Hostname(), d.Region); err != nil {
			return d, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about, c.ExportBase = &d, cmp.Or(export, c.Base)
	return d, nil
}

const (
	maxTries   = 6
	FirstPause = 100 * time.Millisecond
	longPause  = 5 * time.Second
	maxAnswer  = 64 << 20
)

// Identity identifies the home in which the server keeps environments; "" if the server returns
// none.
func (c *Conn) Identity(ctx context.Context) (string, error) {
	about, err := c.About(ctx)
	return about.Home, err
}

// PythonFunction describes the function of the home that runs handlers in Python; nil: it has none.
func (c *Conn) PythonFunction(ctx context.Context) (*wire.PythonFunction, error) {
	about, err := c.About(ctx)
	return about.Python, err
}

// Uploaders is how many files are sent at the same time.
const Uploaders = 8
