package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// objects starts an API that keeps JSON objects by path, and replaces $URL in files by its address:
// objects site.yaml. It appends the path of each deleted object to the file "deleted" of the script,
// and counts the reads of each object below /counted/ in the object's member n. While the script's
// file "feeds" exists, a change of an object below /fed/ has the objects checked that the file names:
// the terms of a filter.
// Below /issued/, only the response to a change has the member token, a new one each time.
func objects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: objects FILE...")
	}
	server := httptest.NewServer(&objectAPI{
		objects: map[string]map[string]any{}, deleted: ts.MkAbs("deleted"),
		feeds: func() error { return check(ts) }})
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
	feeds   func() error
	tokens  int
}

// check has the objects checked that the file "feeds" names, with the variables of the script.
func check(ts *testscript.TestScript) error {
	terms, err := os.ReadFile(ts.MkAbs("feeds"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	cmd := exec.Command("southbound", append([]string{"repair", "--no-wait"},
		strings.Fields(string(terms))...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), os.Environ()
	for _, name := range []string{"SOUTHBOUND_API", "SOUTHBOUND_TOKEN", "SOUTHBOUND_ENVIRONMENT", "HOME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (a *objectAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/fed/") && r.Method != http.MethodGet {
		if err := a.feeds(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
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
	if strings.HasPrefix(r.URL.Path, "/issued/") && r.Method != http.MethodGet {
		a.tokens++
		object = maps.Clone(object)
		object["token"] = fmt.Sprintf(`issued-%d&"p/w"+<%d>`, a.tokens, a.tokens)
	}
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
