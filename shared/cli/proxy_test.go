package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// bearer is a transport that shows a token, when there is one.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// discovery asks a server what it is.
func discovery(there string, transport http.RoundTripper) (map[string]any, error) {
	resp, err := (&http.Client{Transport: transport}).Get(strings.TrimRight(there, "/") + "/")
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var about map[string]any
	err = json.NewDecoder(resp.Body).Decode(&about)
	return about, err
}

// tenant is the header in which requests of public clients name their environment.
const tenant = "X-Inmanta-Tid"

// environments and summaries are where a server lists all environments, by name and with counters.
const (
	environments = "/v1/environments"
	summaries    = "/v1/summaries"
)

// proxy leads to a server and returns the address to ask. Names of environments get a prefix;
// about, when not nil, is what the server is said to be.
func proxy(
	env *testscript.Env, there, prefix string, transport http.RoundTripper, about map[string]any,
) (string, error) {
	to, err := url.Parse(there)
	if err != nil {
		return "", err
	}
	next := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = strings.Replace(r.Out.URL.Path, "/v1/environments/",
			"/v1/environments/"+prefix, 1)
		if env := r.Out.Header.Get(tenant); env != "" {
			r.Out.Header.Set(tenant, prefix+env)
		}
		if r.Out.URL.Path == environments || r.Out.URL.Path == summaries {
			r.Out.Header.Del("Accept-Encoding") // the answer is read here
		}
	}, ModifyResponse: func(r *http.Response) error { return ownEnvironments(r, prefix) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && about != nil {
			_ = json.NewEncoder(w).Encode(about)
			return
		}
		next.ServeHTTP(w, r)
	}))
	env.Defer(server.Close)
	return server.URL, nil
}

// ownEnvironments leaves in a list of environments those of one script, by the names that it knows.
func ownEnvironments(r *http.Response, prefix string) error {
	path := r.Request.URL.Path
	if path != environments && path != summaries || r.StatusCode != http.StatusOK {
		return nil
	}
	var page struct {
		Items []any  `json:"items"`
		Next  string `json:"next,omitempty"`
	}
	if err := json.NewDecoder(r.Body).Decode(&page); err != nil {
		return err
	}
	own := []any{}
	for _, item := range page.Items {
		if name, is := item.(string); is {
			if name, is := strings.CutPrefix(name, prefix); is {
				own = append(own, name)
			}
			continue
		}
		summary, _ := item.(map[string]any)
		name, _ := summary["environment"].(string)
		if name, is := strings.CutPrefix(name, prefix); is {
			summary["environment"] = name
			own = append(own, summary)
		}
	}
	page.Items = own
	b, err := json.Marshal(page)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	r.ContentLength = int64(len(b))
	r.Header.Set("Content-Length", strconv.Itoa(len(b)))
	r.Header.Del("Content-Encoding")
	return nil
}
