// Package tftest provides what tests of Terraform providers need: the providers, and the store on
// which the resources of the test providers live.
package tftest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Fault is the behaviour of a store at one request.
type Fault int

// The faults. The request of a fault is executed, except for Reject.
const (
	Fail   Fault = iota // execute the request and answer 500
	Hang                // execute the request and answer when the client leaves
	Reject              // answer 500 without executing the request
)

// Store is an HTTP store of JSON documents:
//
//	GET /things, POST /things, POST /things/ID/ready, GET|PUT|DELETE /things/ID
//
// It gives each document an id and each of its parts and rules a number. Its zero value is ready
// for use, concurrently.
type Store struct {
	mu       sync.Mutex
	things   map[string]map[string]any
	last     int
	requests []string // method and path of all requests so far
	faults   map[int]Fault
	hanging  chan string
}

// At sets the fault of a later request: 1 is the next one.
func (s *Store) At(n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults == nil {
		s.faults = map[int]Fault{}
	}
	s.faults[len(s.requests)+n] = f
}

// Hanging returns a channel that receives the method and path of each request that hangs.
func (s *Store) Hanging() <-chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hangs()
}

func (s *Store) hangs() chan string {
	if s.hanging == nil {
		s.hanging = make(chan string, 100)
	}
	return s.hanging
}

// Forget removes a document.
func (s *Store) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.things, id)
}

// Change calls f with a document, which f may change. It reports whether the document exists.
func (s *Store) Change(id string, f func(document map[string]any)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, found := s.things[id]
	if found {
		f(d)
	}
	return found
}

// IDs returns the ids of all documents, sorted.
func (s *Store) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.things))
}

// Requests returns the method and path of all requests so far, and forgets them.
func (s *Store) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests, s.faults = nil, nil
	return out
}

// ServeHTTP implements http.Handler.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		_ = json.NewDecoder(r.Body).Decode(&body) // a request without a body has no document
	}
	name := r.Method + " " + r.URL.Path
	s.mu.Lock()
	s.requests = append(s.requests, name)
	fault, faulty := s.faults[len(s.requests)]
	var answer any
	code := http.StatusOK
	if !faulty || fault != Reject {
		answer, code = s.execute(r.Method, strings.Split(strings.Trim(r.URL.Path, "/"), "/"), body)
	}
	b, err := json.Marshal(answer)
	hangs := s.hangs()
	s.mu.Unlock()
	switch {
	case faulty && fault == Hang:
		hangs <- name
		<-r.Context().Done()
		return
	case faulty || err != nil:
		http.Error(w, "the store is out of order", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(code)
	_, _ = w.Write(b)
}

// execute executes a request. The caller holds s.mu.
func (s *Store) execute(method string, path []string, body map[string]any) (any, int) {
	if path[0] != "things" || len(path) > 3 {
		return nil, http.StatusNotFound
	}
	if len(path) == 1 {
		if method == http.MethodPost {
			s.last++
			return s.put(fmt.Sprintf("t-%d", s.last), body), http.StatusCreated
		}
		all := make([]any, 0, len(s.things))
		for _, id := range slices.Sorted(maps.Keys(s.things)) {
			all = append(all, s.things[id])
		}
		return all, http.StatusOK
	}
	id := path[1]
	if _, found := s.things[id]; !found {
		return nil, http.StatusNotFound
	}
	switch method {
	case http.MethodPut:
		return s.put(id, body), http.StatusOK
	case http.MethodDelete:
		delete(s.things, id)
		return nil, http.StatusOK
	}
	return s.things[id], http.StatusOK
}

// put stores a document, and numbers its parts and rules.
func (s *Store) put(id string, d map[string]any) map[string]any {
	if s.things == nil {
		s.things = map[string]map[string]any{}
	}
	if d == nil {
		d = map[string]any{}
	}
	d["id"] = id
	for _, list := range []string{"parts", "rules"} {
		members, _ := d[list].([]any)
		for i, m := range members {
			if member, ok := m.(map[string]any); ok {
				member["no"] = json.Number(strconv.Itoa(100 + i))
			}
		}
	}
	if _, found := d["size"]; found && d["size"] == float64(0) {
		d["size"] = 1 // the size of a thing that has none
	}
	s.things[id] = d
	return d
}
