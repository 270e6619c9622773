package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// objects starts an API that keeps JSON objects by path, and replaces $URL in files by its address:
// objects site.yaml. It appends the path of each deleted object to the file "deleted" of the script,
// and counts the reads of each object below /counted/ in the object's member n.
func objects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: objects FILE...")
	}
	server := httptest.NewServer(&objectAPI{
		objects: map[string]map[string]any{}, deleted: ts.MkAbs("deleted")})
	ts.Defer(server.Close)
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$URL", server.URL)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
	ts.Setenv("URL", server.URL)
}

// objectAPI is the API that objects starts.
type objectAPI struct {
	mu      sync.Mutex
	objects map[string]map[string]any
	deleted string // file
	reads   int
}

// ServeHTTP implements http.Handler.
func (a *objectAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	object, there := a.objects[r.URL.Path]
	sent := map[string]any{}
	if b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20)); err == nil && len(b) > 0 {
		if err := json.Unmarshal(b, &sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch r.Method {
	case http.MethodPut:
		object, there = sent, true
	case http.MethodPatch:
		if there {
			maps.Copy(object, sent)
		}
	case http.MethodDelete:
		delete(a.objects, r.URL.Path)
		a.note(r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !there {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/counted/") {
		a.reads++
		object["n"] = fmt.Sprint(a.reads)
	}
	a.objects[r.URL.Path] = object
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

// note appends a line to the file of deleted objects.
func (a *objectAPI) note(path string) {
	f, err := os.OpenFile(a.deleted, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // the script misses the line
	}
	_, _ = fmt.Fprintln(f, path)
	_ = f.Close()
}
