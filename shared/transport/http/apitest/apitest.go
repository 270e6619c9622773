// Package apitest has a JSON API in memory, for the conformance tests of handlers that use the
// transport http:
//
//	api := apitest.New(t)
//	providertest.Run(t, providertest.Subject{Definition: Thing(), Transport: api.Conn, New: func(string, *providertest.Host) (providertest.Case, error) {
//		prefix := api.Prefix() // a place of its own
//		...
//
// Any path has at most one object: GET reads it, PUT writes it whole, PATCH some of its members,
// DELETE removes it. A missing object is 404.
package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/http"
)

// API is an API and a connection to it. It is safe for concurrent use.
type API struct {
	URL  string
	Conn *conn.Conn
	// Stopper interrupts calls: its Interrupt is for providertest.Case.
	providertest.Stopper

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	places  int
}

// New starts an API that ends with the test.
func New(t testing.TB) *API {
	t.Helper()
	a := &API{objects: map[string]map[string]any{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.URL = server.URL
	a.Conn = Connect(t, map[string]any{"url": server.URL})
	return a
}

// Connect returns a connection with the options of an agent, {url: ..., token: ...}, that does not
// retry. It ends with the test.
func Connect(t testing.TB, options map[string]any) *conn.Conn {
	t.Helper()
	sessions := &conn.Sessions{}
	all := map[string]any{"retry": int64(0)}
	maps.Copy(all, options)
	c, err := sessions.Connect(t.Context(), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = sessions.Close()
	})
	return c
}

// Front is a proxy of a real API that can interrupt calls. It is safe for concurrent use.
type Front struct {
	URL  string
	Conn *conn.Conn
	// Stopper interrupts calls: its Interrupt is for providertest.Case.
	providertest.Stopper
}

// Wrap starts a front of the API at a URL, which ends with the test. options are the agent's
// options besides url.
func Wrap(t testing.TB, target string, options map[string]any) *Front {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	f := &Front{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // calls are interrupted deliberately
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read the whole body: the server closes it once an answer has begun, and the proxy may not
		// have seen its end yet. The server also notices a disconnected caller only after the
		// body's end.
		body, err := io.ReadAll(r.Body)
		if err != nil || f.Before() != nil {
			panic(http.ErrAbortHandler) // the connection is cut without an answer
		}
		r.Body, r.Host = io.NopCloser(bytes.NewReader(body)), to.Host
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f.URL = server.URL
	all := maps.Clone(options)
	if all == nil {
		all = map[string]any{}
	}
	all["url"] = server.URL
	f.Conn = Connect(t, all)
	return f
}

// Prefix returns a unique beginning of names.
func (a *API) Prefix() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.places++
	return fmt.Sprintf("p%d-", a.places)
}

// World describes all objects whose path contains part.
func (a *API) World(part string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(a.objects)) {
		if !strings.Contains(path, part) {
			continue
		}
		text, err := json.Marshal(a.objects[path])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s\n", strings.ReplaceAll(path, part, ""), text)
	}
	return b.String(), nil
}

// Remove removes the object at a path, as another program would.
func (a *API) Remove(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects, path)
}

// Add gives the object at a path another member, as another program would.
func (a *API) Add(path, member string, value any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	object, ok := a.objects[path]
	if !ok {
		return fmt.Errorf("there is no %s", path)
	}
	object[member] = value
	return nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Before() != nil {
		panic(http.ErrAbortHandler) // the connection is cut without an answer
	}
	path := r.URL.EscapedPath()
	object, found := a.objects[path]
	sent := map[string]any{}
	writes := r.Method == http.MethodPut || r.Method == http.MethodPatch
	switch {
	case writes && (err != nil || json.Unmarshal(body, &sent) != nil):
		http.Error(w, "a body is a JSON object", http.StatusBadRequest)
	case r.Method == http.MethodPut:
		a.objects[path] = sent
		answer(w, sent)
	case !found:
		http.Error(w, "there is no "+path, http.StatusNotFound)
	case r.Method == http.MethodPatch:
		maps.Copy(object, sent)
		answer(w, object)
	case r.Method == http.MethodDelete:
		delete(a.objects, path)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		answer(w, object)
	default:
		http.Error(w, "there is GET, PUT, PATCH and DELETE", http.StatusMethodNotAllowed)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
