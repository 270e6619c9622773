package http

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	conn "southbound/shared/transport/http"
)

// pagesOf serves seven objects, two on a page, in every way that APIs have.
func pagesOf(t *testing.T, asked *int) *conn.Conn {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		const all, page = 7, 2
		q := r.URL.Query()
		from := 0
		way := strings.TrimPrefix(r.URL.Path, "/")
		number := func(name string, otherwise int) int {
			if n, err := strconv.Atoi(q.Get(name)); err == nil {
				return n
			}
			return otherwise
		}
		switch way {
		case "page", "pages404":
			from = (number("p", 1) - 1) * page
		case "offset":
			from = number("skip", 0)
		default:
			from = number("after", 0)
		}
		if way == "pages404" && from >= all {
			w.WriteHeader(404)
			return
		}
		to := min(from+page, all)
		var out []any
		for i := min(from, all); i < to; i++ {
			out = append(out, m{"id": i, "n": fmt.Sprintf("n%d", i),
				"big": json.Number("9007199254740993"), "text": "$name is ${x}"})
		}
		body := m{"items": out, "more": nil}
		if to < all {
			switch way {
			case "cursor":
				body["more"] = to
			case "circle":
				body["more"] = fmt.Sprintf("/circle?after=%d", to%4)
			case "body":
				body["more"] = fmt.Sprintf("?after=%d", to)
			case "link":
				w.Header().Set("Link",
					fmt.Sprintf(
						`</link?x=1,2>; rel="prev last", </link?after=%d&x=1,2>;title="a, b"; rel="last next"`,
						to))
			}
		}
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	sessions := &conn.Sessions{}
	t.Cleanup(func() { _ = sessions.Close() })
	options := m{"url": server.URL, "retry": int64(0)}
	c, err := sessions.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPages pins that a list is read to its end, whatever way it has to go on.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path string
		find m
		want int // objects
		part string
	}{
		{"/link", nil, 7, ""},
		{"/body", m{"next": "/more"}, 7, ""},
		{"/cursor", m{"next": "/more", "cursor": "after"}, 7, ""},
		{"/page", m{"page": "p"}, 7, ""},
		{"/page?p=2", m{"page": "p"}, 5, ""},
		{"/pages404", m{"page": "p"}, 7, ""},
		{"/offset", m{"offset": "skip"}, 7, ""},
		{"/offset?skip=3", m{"offset": "skip"}, 4, ""},
		{"/offset", m{"page": "p"}, 0, "the same page twice"},
		{"/circle", m{"next": "/more"}, 0, "in a circle"},
	} {
		asked := 0
		find := m{"path": c.path, "items": "/items", "match": m{"n": "$name"}}
		for k, v := range c.find {
			find[k] = v
		}
		api, err := newAPI(providertest.NewHost(pagesOf(t, &asked)).Context(t.Context(),
			provider.Options{}), want(t, m{"find": find}))
		if err != nil {
			t.Fatal(err)
		}
		items, _, err := api.list(c.path)
		if c.part == "" && (err != nil || len(items) != c.want) ||
			c.part != "" && (err == nil || !strings.Contains(err.Error(), c.part)) || asked > 6 {
			t.Errorf("%s %v: %d objects by %d requests, %v", c.path, c.find, len(items), asked, err)
		}
	}
}

// TestDiscovered pins that what is listed is described so that it has nothing to do, and that texts
// stand for themselves.
func TestDiscovered(t *testing.T) {
	t.Parallel()
	api := newItems(t)
	api.all["7"] = &item{body: m{"name": "web", "size": json.Number("9007199254740993"),
		"label": "${team} $name", "tags": []any{"b", "a"}}, version: 1}
	api.all["8"] = &item{body: m{"name": "gone"}, version: 1, leaving: 9}
	api.all["9"] = &item{body: m{"size": 1}, version: 1}
	c := api.connect(t, nil)
	like := m{"name": "/name", "collection": "/items", "path": "/items/{id}",
		"gone": m{"status": "deleting"}, "find": m{"items": "/items", "match": m{"name": "$name"}}}
	list := func(body any) (out []m) {
		like["body"] = body
		if body == nil {
			delete(like, "body")
		}
		ctx := providertest.NewHost(c).Context(t.Context(),
			provider.Options{Desired: provider.Resource{Attributes: like}})
		err := (object{}).List(ctx, func(f provider.Found) error {
			out = append(out, f.Attributes)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, body := range []any{nil, m{"name": "$name", "size": nil, "tags": nil}} {
		found := list(body)
		if len(found) != 2 || found[0]["name"] != "web" || len(found[1]) != 0 {
			t.Fatalf("%v: %v", body, found)
		}
		got := found[0]["body"].(m)
		if body == nil &&
			(got["label"] != "$${team} $$name" || got["id"] != nil || got["status"] != "active") ||
			body != nil && (got["name"] != "$name" || len(got) != 3) {
			t.Errorf("%v: described as %v", body, got)
		}
		if change, diffs, _, err := apply(t, c, want(t, found[0])); err != nil ||
			change != diff.NoChange {
			t.Errorf("%v: %q, %v, %v", body, change, diffs, err)
		}
	}
	err := object{}.List(providertest.NewHost(c).Context(t.Context(), provider.Options{}),
		func(provider.Found) error { return nil })
	if provider.ClassOf(err) != provider.NeedsChange || err == nil {
		t.Errorf("nothing says which list: %v", err)
	}
}

// numbered serves users at /users, whose ids it chooses itself.
func numbered(t *testing.T) (*conn.Conn, map[string]m) {
	t.Helper()
	all := map[string]m{"1": {"id": 1, "login": "ann", "team": "a"}}
	answer := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, slices.Collect(maps.Values(all)))
	})
	mux.HandleFunc("POST /users", func(w http.ResponseWriter, r *http.Request) {
		user := m{}
		_ = json.NewDecoder(r.Body).Decode(&user)
		user["id"] = len(all) + 7
		all[fmt.Sprint(user["id"])] = user
		w.WriteHeader(http.StatusCreated)
		answer(w, user)
	})
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		if user := all[r.PathValue("id")]; user != nil {
			answer(w, user)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	sessions := &conn.Sessions{}
	t.Cleanup(func() { _ = sessions.Close() })
	options := m{"url": server.URL, "retry": int64(0)}
	c, err := sessions.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, all
}

// TestDiscoveredIsMaintained pins that what is described comes back when it is gone, where the API
// chooses ids.
func TestDiscoveredIsMaintained(t *testing.T) {
	t.Parallel()
	c, all := numbered(t)
	var found []m
	ctx := providertest.NewHost(c).Context(t.Context(), provider.Options{Desired: provider.Resource{
		Attributes: m{"name": "/login", "collection": "/users", "path": "/users/{id}"}}})
	if err := (object{}).List(ctx, func(f provider.Found) error {
		found = append(found, f.Attributes)
		return nil
	}); err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	r := want(t, found[0])
	for _, change := range []diff.Change{diff.NoChange, diff.Created, diff.NoChange} {
		if got, diffs, _, err := apply(t, c, r); err != nil || got != change {
			t.Fatalf("%q, %v, %v; want %q", got, diffs, err, change)
		}
		if change == diff.NoChange {
			clear(all)
		}
	}
}

// TestMatchAt pins what objects are known by, for a pointer to their names.
func TestMatchAt(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]any{
		"/login": m{"login": "$name"}, "/user/login~1name": m{"user": m{"login/name": "$name"}},
		"": nil, "/names/0": nil,
	} {
		if got := matchAt(pointer, "x"); !resource.Equal(got, want) {
			t.Errorf("%s: %v", pointer, got)
		}
	}
	if got := matchAt("/id", json.Number("1")); got != nil {
		t.Errorf("a number is matched as text: %v", got)
	}
}
