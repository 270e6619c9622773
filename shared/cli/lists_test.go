package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"southbound/handlers"
)

// TestListOfAnAPIIsReadOnceARun counts what an API is asked for when many of its objects are looked
// for in one list, and nothing is to be done.
func TestListOfAnAPIIsReadOnceARun(t *testing.T) {
	t.Parallel()
	const n = 300
	var lists, reads atomic.Int64
	object := func(i int) map[string]any {
		return map[string]any{"id": i, "name": fmt.Sprintf("o%d", i), "size": 1}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /objects", func(w http.ResponseWriter, _ *http.Request) {
		lists.Add(1)
		var all []any
		for i := range n {
			all = append(all, object(i))
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	mux.HandleFunc("GET /objects/{id}", func(w http.ResponseWriter, r *http.Request) {
		reads.Add(1)
		var i int
		_, _ = fmt.Sscan(r.PathValue("id"), &i)
		_ = json.NewEncoder(w).Encode(object(i))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	var doc strings.Builder
	fmt.Fprintf(&doc,
		"southbound: 1\nagents: {shop: {transport: http, url: %q}}\ndefaults: {agent: shop}\n"+
			"resources:\n", server.URL)
	for i := range n {
		fmt.Fprintf(&doc,
			"- {type: http::Object, attributes: {name: o%d, collection: /objects, path: "+
				"\"/objects/{id}\", find: {match: {name: $name}}, body: {name: $name, size: 1}}}\n",
			i)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(doc.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := Main(handlers.All(), []string{"apply", dir, "--data", filepath.Join(dir, "data")},
		strings.NewReader(""), &out, &out); code != 0 {
		t.Fatal(code, out.String())
	}
	if lists.Load() != 1 || reads.Load() != n {
		t.Errorf("%d lists and %d reads of one object\n%s", lists.Load(), reads.Load(),
			out.String())
	}
}
