// Package http is the transport http: agents that stand for an API behind a base URL. Handlers get
// a Conn, which authenticates, throttles and retries for them.
//
// A handler's request waits for the rate of the agent, and gets its credentials (options, or tokens
// of OAuth 2). It goes only to the base URL (target). If a retry is harmless and may help, the
// request is retried, with growing pauses (Do). Objects is a handler for APIs that have a JSON
// object at each path.
package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"southbound/shared/patience"
	"southbound/shared/transport/internal/guard"
	"southbound/shared/transport/internal/pool"
)

// Conn is the connection of an agent. It is safe for concurrent use.
type Conn struct {
	session *session
	secrets []string
	done    func()
	once    sync.Once
}

// Close returns the connection. It may be called more than once.
func (c *Conn) Close() error {
	c.once.Do(c.done)
	return nil
}

// Secrets returns the credentials of the connection in every form in which they are sent. Callers
// can thus remove them from texts of the API before they show these.
func (c *Conn) Secrets() []string {
	s := c.session.settings
	out := append(slices.Clone(c.secrets), s.password, s.token, s.key, s.clientSecret,
		c.session.tokens.last())
	out = append(out, s.secretHeaders...)
	if s.password != "" {
		out = append(out, base64.StdEncoding.EncodeToString([]byte(s.user+":"+s.password)))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// Sessions keep state for agents across runs: connections, TLS sessions and the remaining request
// rate. The zero value is ready to use.
type Sessions struct {
	// Guarded refuses addresses of this machine and of its link. It is for processes whose place in
	// the network agents must not use, such as a function, whose runtime and credentials are served
	// at such addresses.
	Guarded bool
	// Now returns the current time; nil: time.Now.
	Now func() time.Time

	once sync.Once
	pool pool.Pool[string, *session]
}

// session is shared by agents with the same options.
type session struct {
	settings *settings
	own      *http.Client // to the base URL's host, with its certificate
	limit    *rate.Limiter
	tokens   *tokens // of OAuth 2; nil: none
	close    func()
	// when the API was verified, in nanoseconds since 1970; 0: it was not, or has failed since
	verified atomic.Int64
}

// Close closes idle network connections.
func (in *session) Close() { in.close() }

// Connect returns a connection for an agent with these options, and the values of the secrets among
// them. It makes no request; see Conn.Verify. The caller closes the connection.
func (s *Sessions) Connect(
	_ context.Context, options map[string]any, secrets []string,
) (*Conn, error) {
	key, err := pool.KeyOf(options)
	if err != nil {
		return nil, err
	}
	s.once.Do(func() { s.pool.Now = s.Now })
	in, give, err := s.pool.Take(key, func() (*session, error) {
		parsed, err := parse(options)
		if err != nil {
			return nil, err
		}
		return s.session(parsed), nil
	})
	if err != nil {
		return nil, err
	}
	return &Conn{session: in, secrets: secrets, done: give}, nil
}

// Close closes the sessions. Connections that are still in use open new network connections.
func (s *Sessions) Close() error {
	s.pool.Close()
	return nil
}

// session makes the HTTP clients for settings.
func (s *Sessions) session(set *settings) *session {
	// If a redirect leads to another host, neither the certificate of the client nor the options
	// about the server's certificate apply to it.
	other := s.transport(&tls.Config{MinVersion: tls.VersionTLS12})
	conf := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: set.roots, ServerName: set.server, InsecureSkipVerify: set.insecure} //nolint:gosec // said explicitly
	if set.client != nil {
		conf.Certificates = []tls.Certificate{*set.client}
	}
	own := s.transport(conf)
	in := &session{settings: set, limit: rate.NewLimiter(rate.Inf, 1), close: func() {
		own.CloseIdleConnections()
		other.CloseIdleConnections()
	}}
	if set.rate > 0 {
		in.limit = rate.NewLimiter(rate.Limit(set.rate), int(set.burst))
	}
	if set.tokenURL != "" {
		in.tokens = newTokens(set, other)
	}
	in.own = &http.Client{Transport: &gate{settings: set, tokens: in.tokens, own: own,
		other: other}, CheckRedirect: in.redirect}
	return in
}

func (s *Sessions) transport(conf *tls.Config) *http.Transport {
	dial := &net.Dialer{KeepAlive: 30 * time.Second}
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: conf,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20}
	if s.Guarded {
		t.Proxy, dial.Control = nil, guard.Control
	}
	t.DialContext = patience.Dial(dial.DialContext, 10*time.Second)
	return t
}

// gate adds credentials to requests to the base URL's origin, and to no other.
type gate struct {
	settings   *settings
	tokens     *tokens
	own, other http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, g.settings.base) {
		return g.other.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for name, values := range g.settings.headers {
		req.Header[name] = values
	}
	switch {
	case g.settings.user != "":
		req.SetBasicAuth(g.settings.user, g.settings.password)
	case g.settings.token != "":
		req.Header.Set("Authorization", "Bearer "+g.settings.token)
	case g.tokens != nil:
		return g.tokens.roundTrip(g.own, req)
	}
	return g.own.RoundTrip(req)
}

// maxRedirects is how many consecutive redirects are followed.
const maxRedirects = 10

// redirect follows redirects of reads, and redirects of any request within an origin with all its
// headers. A request to another origin has no credentials.
func (in *session) redirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= maxRedirects || req.Method != first.Method {
		return http.ErrUseLastResponse // a POST that became a GET is another request
	}
	if sameOrigin(req.URL, in.settings.base) {
		return nil
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	if in.settings.base.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	req.Header = http.Header{"Accept": first.Header["Accept"], "User-Agent": first.Header["User-Agent"]} //nolint:gosec // neither is a secret
	req.Host = ""
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// body returns a reader for a request's body that can be read repeatedly.
func body(b []byte) *bytes.Reader { return bytes.NewReader(b) }
