//go:build servers

package tf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"southbound/shared/tf/tftest"
)

// oracleFault is the behaviour of a store at a kind of request for one document.
type oracleFault struct {
	request string // the method, or "ready" for the second request of a create
	fault   tftest.Fault
}

// pickyStore is a store with faults for documents of some names.
type pickyStore struct {
	*tftest.Store
	mu     sync.Mutex
	faults map[string]oracleFault // by the names of documents
}

// ServeHTTP implements http.Handler.
func (s *pickyStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock() // one request at a time, so that At concerns this request
	defer s.mu.Unlock()
	kind, name := r.Method, ""
	_, rest, _ := strings.Cut(r.URL.Path, "/things/")
	id, verb, _ := strings.Cut(rest, "/")
	if verb != "" {
		kind = verb
	}
	s.Change(id, func(d map[string]any) { name, _ = d["name"].(string) })
	if id == "" && r.Method == http.MethodPost {
		text, err := io.ReadAll(r.Body)
		var d struct{ Name string }
		if err = errors.Join(err, json.Unmarshal(text, &d)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		name, r.Body = d.Name, io.NopCloser(bytes.NewReader(text))
	}
	if f, has := s.faults[name]; has && f.request == kind {
		s.At(1, f.fault)
	}
	s.Store.ServeHTTP(w, r)
}

// tofu is a working directory of OpenTofu.
type tofu struct {
	*testing.T
	*tftest.Tofu
	stores map[string]*pickyStore // by the local names of providers
	urls   map[string]string
}

// newStores returns a store for each local name, and their addresses.
func newStores(t *testing.T, locals ...string) (map[string]*pickyStore, map[string]string) {
	t.Helper()
	stores, urls := map[string]*pickyStore{}, map[string]string{}
	for _, local := range locals {
		s := &pickyStore{Store: &tftest.Store{}}
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		stores[local], urls[local] = s, server.URL
	}
	return stores, urls
}

// newTofu returns a working directory with providers by their local names.
func newTofu(t *testing.T, programs map[string]string) *tofu {
	t.Helper()
	o := &tofu{T: t, Tofu: tftest.NewTofu(t, programs)}
	o.stores, o.urls = newStores(t, slices.Sorted(maps.Keys(programs))...)
	return o
}

// tofuPlan is the plan of an object.
type tofuPlan struct{ actions, replace string }

// plan writes a configuration, and returns the plans of objects by their addresses.
func (o *tofu) plan(config map[string]any) map[string]tofuPlan {
	o.Helper()
	text, err := json.MarshalIndent(config, "", "\t")
	if err != nil {
		o.Fatal(err)
	}
	o.Write("main.tf.json", string(text))
	o.Reads("plan", "-input=false", "-no-color", "-parallelism=2", "-lock=false", "-out=plan")
	var plan struct {
		Changes []struct {
			Address string `json:"address"`
			Deposed string `json:"deposed"`
			Change  struct {
				Actions []string `json:"actions"`
				Replace [][]any  `json:"replace_paths"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(o.Reads("show", "-json", "plan"), &plan); err != nil {
		o.Fatal(err)
	}
	out := map[string]tofuPlan{}
	for _, c := range plan.Changes {
		if c.Deposed != "" {
			c.Address += " deposed"
		}
		var paths []string
		for _, p := range c.Change.Replace {
			paths = append(paths, pointerOf(p))
		}
		out[c.Address] = tofuPlan{strings.Join(c.Change.Actions, " "), joined(paths)}
	}
	return out
}

// joined returns paths in order, each once.
func joined(paths []string) string {
	slices.Sort(paths)
	return strings.Join(slices.Compact(paths), " ")
}

// pointerOf returns a path in the form of value.Pointer. A path into a set ends at the set.
func pointerOf(path []any) string {
	var out []string
	for _, step := range path {
		switch step := step.(type) {
		case string:
			out = append(out, step)
		case float64:
			out = append(out, strconv.Itoa(int(step)))
		default:
			return strings.Join(out, "/")
		}
	}
	return strings.Join(out, "/")
}

// apply applies the last plan. An error is part of the result.
func (o *tofu) apply() {
	o.Helper()
	_, messages, err := o.Do("apply", "-input=false", "-no-color", "-parallelism=2", "-lock=false", "plan")
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.Fatal(err)
	}
	if messages != "" {
		o.Logf("tofu apply: %v\n%s", err, messages)
	}
}

// tofuObject is an object in a state.
type tofuObject struct {
	Status     string         `json:"status,omitempty"`
	Deposed    string         `json:"deposed,omitempty"`
	Version    int64          `json:"schema_version"`
	Attributes map[string]any `json:"attributes"`
}

// state returns the objects of the state by their addresses. If change is given, it may change an
// object, which is written.
func (o *tofu) state(change func(address string, object map[string]any)) map[string]tofuObject {
	o.Helper()
	path := filepath.Join(o.Dir, "terraform.tfstate")
	text, err := os.ReadFile(path)
	if err != nil {
		o.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(text, &file); err != nil {
		o.Fatal(err)
	}
	out := map[string]tofuObject{}
	resources, _ := file["resources"].([]any)
	for _, r := range resources {
		r := r.(map[string]any)
		address := fmt.Sprintf("%v.%v", r["type"], r["name"])
		for _, i := range r["instances"].([]any) {
			i := i.(map[string]any)
			if change != nil {
				change(address, i)
			}
			var object tofuObject
			b, err := json.Marshal(i)
			if err == nil {
				err = json.Unmarshal(b, &object)
			}
			if err != nil {
				o.Fatal(err)
			}
			if object.Deposed != "" {
				address += " deposed"
			}
			out[address] = object
		}
	}
	if change != nil {
		if text, err = json.Marshal(file); err != nil {
			o.Fatal(err)
		}
		o.Write("terraform.tfstate", string(text))
	}
	return out
}

// masked returns a value without the ids that a store has assigned: they depend on the order of creates.
func masked(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(regexp.MustCompile(`"t-\d+"`).ReplaceAll(b, []byte(`"t"`)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
