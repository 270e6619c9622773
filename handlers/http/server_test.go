package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/http"
)

// item is an object of the server.
type item struct {
	body            map[string]any
	version         int
	unseen, leaving int // reads until it is shown, until it is gone
}

// items is an API as APIs are: it chooses ids, keeps names unique, shows late what was done, has
// pages, ETags, a rate, and fields of its own.
type items struct {
	*httptest.Server
	providertest.Stopper
	lag      int  // reads until what was done is seen
	anyName  bool // names need not be unique
	issues   bool // the response to a create has a token
	slow     bool // a create takes effect some time after its request
	throttle int  // every n-th request is refused

	mu       sync.Mutex
	next     int
	all      map[string]*item // by id
	keys     map[string]string
	requests int
	log      []string
}

func newItems(t *testing.T) *items {
	t.Helper()
	s := &items{all: map[string]*item{}, keys: map[string]string{}, next: 100}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// connect returns a connection with options beside the URL.
func (s *items) connect(t *testing.T, options map[string]any) *conn.Conn {
	t.Helper()
	sessions := &conn.Sessions{}
	all := map[string]any{"url": s.URL + "/v1", "token": "s3cr3t-token"}
	maps.Copy(all, options)
	c, err := sessions.Connect(t.Context(), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sessions.Close() })
	return c
}

// ServeHTTP implements http.Handler.
func (s *items) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if s.slow && r.Method == http.MethodPost {
		time.Sleep(4 * time.Millisecond) // longer than the calls that a test cuts off
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Before() != nil {
		panic(http.ErrAbortHandler)
	}
	s.requests++
	s.log = append(s.log, r.Method+" "+r.URL.Path)
	switch {
	case r.Header.Get("Authorization") != "Bearer s3cr3t-token":
		s.answer(w, 401,
			map[string]any{"error": "who are you with " + r.Header.Get("Authorization")})
		return
	case s.throttle > 0 && s.requests%s.throttle == 0:
		w.Header().Set("Retry-After", "0")
		s.answer(w, 429, map[string]any{"error": "slow down"})
		return
	}
	var in map[string]any
	numbers := json.NewDecoder(bytes.NewReader(body))
	numbers.UseNumber()
	if len(body) > 0 && numbers.Decode(&in) != nil {
		s.answer(w, 400, map[string]any{"error": "not JSON"})
		return
	}
	for _, own := range []string{"id", "version", "created_at", "status"} {
		delete(in, own)
	}
	id, one := strings.CutPrefix(r.URL.Path, "/v1/items/")
	switch {
	case one:
		s.one(w, r, id, in)
	case r.URL.Path == "/v1/items" && r.Method == http.MethodGet:
		s.list(w, r)
	case r.URL.Path == "/v1/items" && r.Method == http.MethodPost:
		s.create(w, r, in)
	default:
		s.answer(w, 404, map[string]any{"error": "no such place"})
	}
}

func (s *items) answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// shown returns an item as it is read; ok is false when it is not there (yet, any more).
func (s *items) shown(id string, it *item) (map[string]any, bool) {
	if it == nil || it.unseen > 0 {
		return nil, false
	}
	out := maps.Clone(it.body)
	delete(out, "password") // can only be written
	number, _ := strconv.Atoi(id)
	out["id"], out["version"], out["created_at"] = number, it.version, "2026-01-01"
	if out["status"] = "active"; it.leaving > 0 {
		out["status"] = "deleting"
	}
	if tags, ok := out["tags"].([]any); ok { // in an order of its own
		tags = slices.Clone(tags)
		slices.SortFunc(tags, func(a, b any) int {
			return strings.Compare(fmt.Sprint(b), fmt.Sprint(a))
		})
		out["tags"] = tags
	}
	return out, true
}

// tick lets the time of a read pass.
func (s *items) tick() {
	for id, it := range s.all {
		it.unseen = max(it.unseen-1, 0)
		if it.leaving > 0 {
			if it.leaving--; it.leaving == 0 {
				delete(s.all, id)
			}
		}
	}
}

func (s *items) list(w http.ResponseWriter, r *http.Request) {
	s.tick()
	var out []any
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		if v, ok := s.shown(id, s.all[id]); ok && strings.HasPrefix(fmt.Sprint(v["name"]),
			r.URL.Query().Get("prefix")) {
			out = append(out, v)
		}
	}
	const page = 2
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	from = min(from, len(out))
	if to := from + page; to < len(out) {
		out = out[:to]
		w.Header().Set("Link",
			fmt.Sprintf(`<%s/v1/items?from=0>; rel="first", <?from=%d&prefix=%s>; rel="next"`,
				s.URL, to, r.URL.Query().Get("prefix")))
	}
	s.answer(w, 200, map[string]any{"items": out[from:]})
}

func (s *items) create(w http.ResponseWriter, r *http.Request, in map[string]any) {
	key := r.Header.Get("Idempotency-Key")
	if key != "" {
		key += fmt.Sprint(in["name"])
	}
	id := s.keys[key]
	if s.all[id] == nil {
		for _, it := range s.all {
			if it.body["name"] == in["name"] && !s.anyName && it.leaving == 0 {
				s.answer(w, 409, map[string]any{"error": fmt.Sprintf("there is a %v", in["name"])})
				return
			}
		}
		if in["name"] == nil {
			s.answer(w, 422, map[string]any{"error": "no name in " + fmt.Sprint(in)})
			return
		}
		s.next++
		id = strconv.Itoa(s.next)
		s.all[id] = &item{body: in, version: 1, unseen: s.lag}
		if key != "" {
			s.keys[key] = id
		}
	}
	w.Header().Set("Location", "/v1/items/"+id)
	if s.issues {
		s.answer(w, http.StatusCreated, map[string]any{"id": id, "token": "t0ken-of-" + id})
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (s *items) one(w http.ResponseWriter, r *http.Request, id string, in map[string]any) {
	if r.Method == http.MethodGet {
		s.tick()
	}
	it := s.all[id]
	v, ok := s.shown(id, it)
	if !ok {
		s.answer(w, 404, map[string]any{"error": "none"})
		return
	}
	etag := fmt.Sprintf(`"%d"`, it.version)
	if m := r.Header.Get("If-Match"); m != "" && m != etag {
		s.answer(w, 412, map[string]any{"error": "it is " + etag})
		return
	}
	switch r.Method {
	case http.MethodGet:
		w.Header().Set("ETag", etag)
		s.answer(w, 200, v)
	case http.MethodPut:
		it.body = in
		it.version++
		s.answer(w, 200, in)
	case http.MethodPatch:
		it.body = maps.Clone(it.body)
		maps.Copy(it.body, in)
		it.version++
		s.answer(w, 200, in)
	case http.MethodDelete:
		if s.lag == 0 {
			delete(s.all, id)
		} else if it.leaving == 0 {
			it.leaving = s.lag
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

// world describes what there is of a place, whatever the ids.
func (s *items) world(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, it := range s.all {
		name := fmt.Sprint(it.body["name"])
		if !strings.HasPrefix(name, prefix) || it.leaving > 0 {
			continue
		}
		body := maps.Clone(it.body)
		body["name"] = strings.TrimPrefix(name, prefix)
		b, _ := json.Marshal(body)
		out = append(out, string(b))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// remove takes away what has a name.
func (s *items) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, it := range s.all {
		if it.body["name"] == name {
			delete(s.all, id)
		}
	}
}
