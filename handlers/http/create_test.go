package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/http"
)

// chooses is an API that chooses ids and has no list. How it answers a create is up to create.
type chooses struct {
	all    map[string]m
	create func(w http.ResponseWriter, id string)
	asked  []string
}

// ServeHTTP implements http.Handler.
func (s *chooses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	if r.Method == http.MethodPost {
		var in m
		_ = json.NewDecoder(r.Body).Decode(&in)
		id := string(rune('a' + len(s.all)))
		s.all[id] = in
		s.create(w, id)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/operations/") {
		s.create(w, strings.TrimPrefix(r.URL.Path, "/operations/"))
		return
	}
	id := strings.TrimPrefix(r.URL.Path, "/things/")
	have, ok := s.all[id]
	switch {
	case !ok:
		w.WriteHeader(404)
	case r.Method == http.MethodDelete:
		delete(s.all, id)
	default:
		_ = json.NewEncoder(w).Encode(have)
	}
}

func (s *chooses) connect(t *testing.T, more m) *conn.Conn {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	sessions := &conn.Sessions{}
	t.Cleanup(func() { _ = sessions.Close() })
	options := m{"url": server.URL, "retry": int64(0)}
	for k, v := range more {
		options[k] = v
	}
	c, err := sessions.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// thing is a resource that is known by the id that the API gave it, and by nothing else.
func theThing(t *testing.T, more m) provider.Resource {
	t.Helper()
	attrs := m{"path": "/things/{id}", "collection": "/things", "find": nil,
		"body": m{"size": int64(1)}}
	for k, v := range more {
		attrs[k] = v
	}
	return want(t, attrs)
}

// TestKept pins that an id that only the answer to the create has said is kept, however it was
// said, and forgotten when the object is gone.
func TestKept(t *testing.T) {
	t.Parallel()
	polls := 0
	for why, c := range map[string]struct {
		create func(w http.ResponseWriter, id string)
		attrs  m
	}{
		"in the answer": {create: func(w http.ResponseWriter, id string) {
			w.WriteHeader(201)
			_, _ = w.Write([]byte(`{"id": "` + id + `"}`))
		}},
		"for a body of its own": {create: func(w http.ResponseWriter, id string) {
			w.WriteHeader(201)
			_, _ = w.Write([]byte(`{"new": {"id": "` + id + `"}}`))
		}, attrs: m{"new_id_at": "/new/id", "bodies": m{"create": m{"size": "$n", "data": "$body"}},
			"vars": m{"n": int64(1)}}},
		"in the Location": {create: func(w http.ResponseWriter, id string) {
			w.Header().Set("Location", "/things/"+id+"?x=1")
			w.WriteHeader(201)
		}},
		"see other": {create: func(w http.ResponseWriter, id string) {
			w.Header().Set("Location", "/things/"+id)
			w.WriteHeader(303)
		}},
		"later": {create: func(w http.ResponseWriter, id string) {
			polls++
			if polls < 3 {
				w.Header().Set("Location", "/operations/"+id)
				w.WriteHeader(202)
			}
			_, _ = w.Write([]byte(`{"id": "operation", "made": "` + id + `"}`))
		}, attrs: m{"operation": m{"id": "/made"}, "settle": int64(30)}},
	} {
		s := &chooses{all: map[string]m{"a": {"theirs": true}}, create: c.create}
		r := theThing(t, c.attrs)
		host := providertest.NewHost(s.connect(t, nil))
		run := func(state []byte) (provider.Observation, *provider.Context) {
			ctx := host.Context(t.Context(), provider.Options{ID: r.ID, State: state})
			obs, err := object{}.Read(ctx, provider.ReadRequest{Resource: r})
			if err != nil {
				t.Fatalf("%s: %v", why, err)
			}
			return obs, ctx
		}
		var state []byte
		for range 5 {
			_, ctx := run(state)
			res, err := object{}.Create(ctx, provider.CreateRequest{Resource: r, Token: "t"})
			if err != nil {
				t.Fatalf("%s: %v", why, err)
			}
			if res.Again == nil {
				break
			}
			state = res.Again.State
			if found, err := (object{}).FindCreated(host.Context(t.Context(),
				provider.Options{ID: r.ID, State: state}),
				provider.CreateRequest{Resource: r, Token: "t"}); !found || err != nil {
				t.Errorf("%s: what is under way is not known: %v", why, err)
			}
		}
		obs, ctx := run(nil)
		if !obs.Exists || host.Facts()[idFact] != "b" || len(s.all) != 2 {
			t.Fatalf("%s: %v, %v, %v", why, obs, host.Facts(), s.asked)
		}
		if data := s.all["b"]["data"]; c.attrs["bodies"] != nil &&
			fmt.Sprint(data) != "map[size:1]" {
			t.Errorf("%s: sent %v", why, data)
		}
		r.Purged = true
		if _, err := (object{}).Delete(ctx,
			provider.DeleteRequest{Resource: r, Observed: obs}); err != nil || s.all["b"] != nil ||
			s.all["a"] == nil {
			t.Errorf("%s: purged: %v, %v", why, s.all, err)
		}
		s.all["b"] = m{"of": "someone else"} // the API gives the id to another
		if obs, _ := run(nil); obs.Exists {
			t.Errorf("%s: another object is taken for the one that was purged", why)
		}
	}
}

// TestCreateOutcomeUnknown pins what is said about creates that may have happened: what is certain,
// what can be repeated, and what a person has to decide.
func TestCreateOutcomeUnknown(t *testing.T) {
	t.Parallel()
	status := func(n int, body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, _ string) {
			w.WriteHeader(n)
			_, _ = w.Write([]byte(body))
		}
	}
	for why, c := range map[string]struct {
		create  func(w http.ResponseWriter, id string)
		options m
		attrs   m
		nothing bool
		find    bool // it can be told, or repeated
	}{
		"refused":       {create: status(422, "no"), nothing: true},
		"there already": {create: status(409, "no"), nothing: true},
		"slow down":     {create: status(429, "no"), nothing: true},
		"broken":        {create: status(500, "no")},
		"cut": {create: func(http.ResponseWriter, string) {
			panic(http.ErrAbortHandler)
		}},
		"cut, and may be repeated": {create: func(http.ResponseWriter, string) {
			panic(http.ErrAbortHandler)
		}, options: m{"idempotency_header": "Idempotency-Key"}, find: true},
		"never reached": {create: status(201, ""),
			options: m{"url": "http://127.0.0.1:1"}, nothing: true},
		"a body that cannot be": {create: status(201, ""),
			attrs: m{"body": m{"x": "${none}"}}, nothing: true},
		"no id": {create: status(201, `{"name": "x"}`)},
		"failed later": {create: status(202, ""),
			attrs: m{"operation": m{"failed": m{"state": "failed"}}}},
		"an id with a secret in it": {create: status(201, `{"id": "key-s3cr3t"}`),
			attrs: m{"secrets": m{"pw": "s3cr3t"}}},
		"a Location of something else": {create: func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "/users/7")
			w.WriteHeader(201)
		}},
	} {
		s := &chooses{all: map[string]m{}, create: c.create}
		r := theThing(t, c.attrs)
		host := providertest.NewHost(s.connect(t, c.options))
		ctx := func() *provider.Context {
			return host.Context(t.Context(), provider.Options{ID: r.ID})
		}
		_, err := object{}.Create(ctx(), provider.CreateRequest{Resource: r, Token: "t"})
		if err == nil || errors.Is(err, provider.ErrNothingMade) != c.nothing ||
			strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v, nothing made: %t", why, err, errors.Is(err, provider.ErrNothingMade))
		}
		found, err := object{}.FindCreated(ctx(), provider.CreateRequest{Resource: r, Token: "t"})
		if found || errors.Is(err, provider.ErrUndecided) == c.find || c.find && err != nil {
			t.Errorf("%s: found %t, %v", why, found, err)
		}
	}
}
