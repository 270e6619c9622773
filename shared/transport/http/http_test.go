package http_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	std "net/http"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/transport/http"
)

// connect returns a connection whose options are as they are after secrets were resolved.
func connect(t *testing.T, s *http.Sessions, url string, options map[string]any) *http.Conn {
	t.Helper()
	all := map[string]any{"url": url}
	for k, v := range options {
		all[k] = v
	}
	c, err := s.Connect(t.Context(), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func serve(t *testing.T, f std.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// TestCredentials pins what is sent, and that none of it follows a redirect to another origin.
func TestCredentials(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(w std.ResponseWriter, r *std.Request) {
		fmt.Fprintf(w, "%s %v", r.Method, r.Header)
	})
	api := serve(t, func(w std.ResponseWriter, r *std.Request) {
		switch r.URL.Path {
		case "/v1/away":
			std.Redirect(w, r, elsewhere.URL+"/x", std.StatusTemporaryRedirect)
		case "/v1/near":
			std.Redirect(w, r, "/v1/echo", std.StatusPermanentRedirect)
		case "/v1/other":
			std.Redirect(w, r, "/v1/echo", std.StatusSeeOther)
		default:
			b, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %v %s", r.Method, r.Header, b)
		}
	})
	var s http.Sessions
	defer s.Close()
	for name, c := range map[string]struct {
		options map[string]any
		want    string
	}{
		"basic":  {map[string]any{"user": "me", "password": "hunter2"}, "Basic bWU6aHVudGVyMg=="},
		"bearer": {map[string]any{"token": "hunter2"}, "Bearer hunter2"},
		"header": {map[string]any{"headers": map[string]any{"x-api-key": "hunter2"}},
			"X-Api-Key:[hunter2]"},
	} {
		conn := connect(t, &s, api.URL+"/v1/", c.options)
		do := func(method, path string) *http.Response {
			t.Helper()
			res, err := conn.Do(t.Context(),
				http.Request{Method: method, Path: path, Body: []byte("private"),
					Header: std.Header{"X-Mine": {"private"}}})
			if err != nil {
				t.Fatal(name, err)
			}
			return res
		}
		for _, path := range []string{"/echo", "/near"} {
			if res := do("PUT", path); !strings.Contains(string(res.Body), c.want) ||
				!strings.HasPrefix(string(res.Body), "PUT") ||
				!strings.HasSuffix(string(res.Body), "private") {
				t.Errorf("%s: %s says %s", name, path, res.Body)
			}
		}
		if res := do("GET", "/away"); res.Status != 200 ||
			!strings.HasPrefix(string(res.Body), "GET") ||
			strings.Contains(string(res.Body), "hunter") ||
			strings.Contains(string(res.Body), "Authorization") ||
			strings.Contains(string(res.Body), "private") ||
			strings.Contains(string(res.Body), "Referer") {
			t.Errorf("%s: the other host saw %s", name, res.Body)
		}
		if res := do("POST", "/away"); res.Status != std.StatusTemporaryRedirect {
			t.Errorf("%s: a POST was sent to another host: %s", name, res.Body)
		}
		if res := do("POST", "/other"); res.Status != std.StatusSeeOther {
			t.Errorf("%s: a POST became %s", name, res.Body)
		}
		found := false
		for _, secret := range conn.Secrets() {
			found = found || strings.Contains(c.want, secret)
		}
		if !found {
			t.Errorf("%s: the secrets are %q", name, conn.Secrets())
		}
	}
}

// TestPaths pins that no value in a path leads out of the base URL.
func TestPaths(t *testing.T) {
	t.Parallel()
	api := serve(t, func(w std.ResponseWriter, r *std.Request) {
		fmt.Fprint(w, r.URL.EscapedPath(), "?", r.URL.RawQuery)
	})
	var s http.Sessions
	defer s.Close()
	conn := connect(t, &s, api.URL+"/base%20x", nil)
	for path, want := range map[string]string{"/a%2Fb": "/base%20x/a%2Fb?",
		"/a?q=../x": "/base%20x/a?q=../x", "/": "/base%20x/?",
		"/..": "", "/a/%2e%2E/b": "", "/./a": "", "a": "", "": "",
		"//evil.example/a": "/base%20x//evil.example/a?", "/a#b": "", "/%zz": "", `/a\b`: "",
		"@evil.example/": "", "/a\nb": ""} {
		res, err := conn.Do(t.Context(), http.Request{Path: path})
		switch {
		case want == "" && (err == nil || !fault.Is(err, fault.Invalid)):
			t.Errorf("%q: %v", path, err)
		case want != "" && (err != nil || string(res.Body) != want):
			t.Errorf("%q: %v, %v", path, res, err)
		}
	}
	for link, want := range map[string]string{"/base%20x/things/7": "/things/7",
		api.URL + "/base%20x/things/8": "/things/8", "9": "/9", "things/9": "/things/9",
		"http://evil.example/base%20x/things/7": "", "/other/7": "", "/base%20xy/7": "", "..": ""} {
		if got, ok := conn.Below(link, "/things"); got != want && ok || ok != (want != "") {
			t.Errorf("%q leads to %q, %t, expected %q", link, got, ok, want)
		}
	}
}

// TestRetry pins what is made again, and what is not.
func TestRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, key string
		status      []int // of one answer after the other; 0 hangs up
		options     map[string]any
		after       string
		want, calls int
	}{
		"a GET, throttled": {method: "GET", status: []int{429, 503, 200}, after: "0",
			want: 200, calls: 3},
		"a DELETE, cut off": {method: "DELETE", status: []int{0, 204}, want: 204,
			calls: 2},
		"a POST is not made twice": {method: "POST", status: []int{503, 200}, want: 503,
			calls: 1},
		"a POST, cut off": {method: "POST", status: []int{0, 200}, want: 0, calls: 1},
		"a key that nobody reads": {method: "POST", key: "k", status: []int{503, 200},
			want: 503, calls: 1},
		"a POST with a key": {method: "POST", key: "k",
			options: map[string]any{"idempotency_header": "Idempotency-Key"},
			status:  []int{0, 429, 201}, want: 201, calls: 3},
		"what will not pass": {method: "GET", status: []int{500, 200}, want: 500,
			calls: 1},
		"longer than the agent waits": {method: "GET", status: []int{503, 200}, after: "31",
			want: 503, calls: 1},
		"never": {method: "GET", status: []int{503, 200},
			options: map[string]any{"retry": int64(0)}, want: 503, calls: 1},
		"a date": {method: "GET", status: []int{503, 200},
			after: "Mon, 02 Jan 2006 15:04:05 GMT", want: 200, calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			api := serve(t, func(w std.ResponseWriter, r *std.Request) {
				n := int(calls.Add(1)) - 1
				b, _ := io.ReadAll(r.Body)
				if c.key != "" && c.options != nil && r.Header.Get("Idempotency-Key") != c.key ||
					string(b) != "body" && r.Method == "POST" {
					w.WriteHeader(400)
					return
				}
				if c.status[n] == 0 {
					panic(std.ErrAbortHandler)
				}
				w.Header().Set("Retry-After", c.after)
				w.WriteHeader(c.status[n])
			})
			var s http.Sessions
			defer s.Close()
			res, err := connect(t, &s, api.URL, c.options).Do(t.Context(),
				http.Request{Method: c.method, Path: "/", Body: []byte("body"), Key: c.key})
			if status := 0; err == nil {
				if status = res.Status; status != c.want {
					t.Errorf("%d, expected %d", status, c.want)
				}
			} else if c.want != 0 || !fault.Is(err, fault.Unavailable) {
				t.Error(err)
			}
			if int(calls.Load()) != c.calls {
				t.Errorf("%d calls, expected %d", calls.Load(), c.calls)
			}
		})
	}
}

// TestEndedWhileTriedAgain pins that who gives up while a request is tried again is told what the
// last try ended with.
func TestEndedWhileTriedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	api := serve(t, func(w std.ResponseWriter, _ *std.Request) { w.WriteHeader(503) })
	var s http.Sessions
	defer s.Close()
	ctx = provider.OnWaits(ctx, func(string) { cancel() })
	_, err := connect(t, &s, api.URL, nil).Do(ctx, http.Request{Path: "/"})
	if !errors.Is(err, context.Canceled) || !fault.Is(err, fault.Canceled) ||
		!strings.Contains(err.Error(), "the API answers Service Unavailable") {
		t.Errorf("%v, a %s", err, fault.KindOf(err))
	}
}

// TestBounds pins the bounds: of time, of an answer, of the rate, and of what a guarded process
// reaches.
func TestBounds(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	var calls atomic.Int64
	api := serve(t, func(w std.ResponseWriter, r *std.Request) {
		switch r.URL.Path {
		case "/slow":
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		case "/long":
			_, _ = w.Write(make([]byte, 100))
		default:
			calls.Add(1)
		}
	})
	defer close(stop)
	var s http.Sessions
	defer s.Close()
	quick := connect(t, &s, api.URL,
		map[string]any{"timeout": int64(1), "retry": int64(0), "max_body": int64(99)})
	if _, err := quick.Do(t.Context(), http.Request{Path: "/slow?token=hunter2"}); !fault.Is(err,
		fault.Timeout) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a slow answer: %v", err)
	}
	short := connect(t, &s, api.URL, map[string]any{"retry": int64(0), "max_body": int64(99)})
	if _, err := short.Do(t.Context(), http.Request{Path: "/long"}); !fault.Is(err,
		fault.Invalid) || !strings.Contains(fault.HintOf(err), "max_body") {
		t.Errorf("a long answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := quick.Do(ctx, http.Request{Path: "/"}); !fault.Is(err, fault.Canceled) {
		t.Errorf("a caller that gave up: %v", err)
	}
	limited := map[string]any{"rate": 20.0, "burst": int64(2)}
	began := time.Now()
	for range 6 { // two at once, then one each 50 ms; by connections that share a session
		if _, err := connect(t, &s, api.URL, limited).
			Do(t.Context(), http.Request{Path: "/"}); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(began); d < 190*time.Millisecond || calls.Load() != 6 {
		t.Errorf("%d calls took %s", calls.Load(), d)
	}
	guarded := http.Sessions{Guarded: true}
	defer guarded.Close()
	for _, url := range []string{api.URL, strings.Replace(api.URL, "127.0.0.1", "localhost", 1),
		"http://169.254.169.254", "http://[::ffff:127.0.0.1]:9001", "http://0.0.0.0:9001"} {
		if _, err := connect(t, &guarded, url, nil).
			Do(t.Context(), http.Request{Path: "/"}); !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", url, err)
		}
	}
	gone := serve(t, nil)
	gone.Close()
	if err := connect(t, &s, gone.URL, map[string]any{"retry": int64(0)}).
		Verify(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("nobody answers: %v", err)
	}
	var told []string
	watched := provider.OnWaits(t.Context(), func(why string) { told = append(told, why) })
	if _, err := connect(t, &s, gone.URL, map[string]any{"retry": int64(1)}).
		Do(watched, http.Request{Path: "/"}); err == nil || len(told) == 0 ||
		!strings.Contains(told[0], "connection refused") {
		t.Errorf("while it is waited for: %q, %v", told, err)
	}
}

// pair makes a certificate that signs itself.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template(), template(), &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func template() *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// TestTLS pins that a certificate is checked unless said otherwise, and that the client shows its
// own where it is asked.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := pair(t)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM([]byte(cert))
	api := httptest.NewUnstartedServer(std.HandlerFunc(func(w std.ResponseWriter, r *std.Request) {
		if r.URL.Path == "/private" && len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(std.StatusForbidden)
		}
	}))
	api.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients,
		MinVersion: tls.VersionTLS12}
	api.Config.ErrorLog = nil
	api.StartTLS()
	defer api.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}))
	type m = map[string]any
	for name, c := range map[string]struct {
		options m
		kind    fault.Kind
	}{
		"nobody knows the authority": {m{}, fault.Denied},
		"it is trusted":              {m{"ca": ca}, ""},
		"another name":               {m{"ca": ca, "server_name": "other.example"}, fault.Denied},
		"its name":                   {m{"ca": ca, "server_name": "example.com"}, ""},
		"anything goes":              {m{"insecure": true}, ""},
		"a private place":            {m{"ca": ca, "probe": "/private"}, fault.Denied},
		"a client with a name": {
			m{"ca": ca, "probe": "/private", "certificate": cert, "key": key}, ""},
	} {
		var s http.Sessions
		conn := connect(t, &s, api.URL, c.options)
		if err := conn.Verify(t.Context()); fault.KindOf(err) != c.kind ||
			err != nil && fault.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		if facts, err := conn.Facts(t.Context()); c.kind == "" &&
			(err != nil || facts["tls.version"] != "TLS 1.3" ||
				facts["tls.certificate.until"] == "") {
			t.Errorf("%s: facts are %v, %v", name, facts, err)
		}
		_ = s.Close()
	}
	var s http.Sessions
	if _, err := s.Connect(t.Context(),
		m{"url": "https://h", "certificate": cert, "key": cert}, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("a key that does not fit: %v", err)
	}
	if _, err := s.Connect(t.Context(),
		m{"url": "https://h", "token": resource.Secret{Source: "env:X"}}, nil); !fault.Is(err,
		fault.Invalid) {
		t.Errorf("a secret that nobody resolved: %v", err)
	}
}

// TestSessions pins that runs with the same options share a session, and that it ends when nobody
// has used it for long.
func TestSessions(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	api := httptest.NewUnstartedServer(std.HandlerFunc(func(std.ResponseWriter, *std.Request) {}))
	api.Config.ConnContext = func(ctx context.Context,
		_ net.Conn) context.Context {
		opened.Add(1)
		return ctx
	}
	api.Start()
	defer api.Close()
	now := time.Unix(1_000_000, 0)
	s := &http.Sessions{Now: func() time.Time { return now }}
	defer s.Close()
	for i, step := range []struct {
		later time.Duration
		want  int64
	}{{0, 1}, {14 * time.Minute, 1}, {16 * time.Minute, 2}} {
		now = now.Add(step.later)
		c, err := s.Connect(t.Context(), map[string]any{"url": api.URL}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		_, _ = c.Close(), c.Close() // twice is once
		if opened.Load() != step.want {
			t.Errorf("step %d: %d connections, expected %d", i, opened.Load(), step.want)
		}
	}
}
