package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"southbound/shared/api/wire"
)

// FuzzSegment holds that every name comes out of a path as it went in, also where the slashes of
// the path were no longer escaped when it came.
func FuzzSegment(f *testing.F) {
	for _, name := range []string{"a", ".", "..", "a/b", "//", "a/history", "fs::File[a,path=/x y]",
		"%2F", "a+b", "ö?#"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || name == "/" { // neither is a name
			return
		}
		var got, of string
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/environments/{env}/parameters/{name}",
			func(_ http.ResponseWriter, r *http.Request) {
				got, of = r.PathValue("name"), "itself"
			})
		mux.HandleFunc("GET /v1/environments/{env}/parameters/{name}/history",
			func(_ http.ResponseWriter, r *http.Request) {
				got, of = r.PathValue("name"), "history"
			})
		for _, c := range []struct{ path, of string }{
			{wire.EnvironmentPath("e", "parameters/"+wire.Segment(name)), "itself"},
			{wire.EnvironmentPath("e", "parameters/"+wire.Segment(name)) + wire.HistorySuffix, "history"},
		} {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			joinSegments(mux).ServeHTTP(httptest.NewRecorder(), r)
			if got != name || of != c.of {
				t.Errorf("%s is %s of %q, want %s of %q", c.path, of, got, c.of, name)
			}
			got, of = "", ""
		}
	})
}

// TestJoined is what becomes of paths in which slashes are not escaped.
func TestJoined(t *testing.T) {
	for _, c := range []struct{ why, path, want string }{
		{"slashes of an id", "/v1/environments/e/resources/fs::File[a,path=/etc/x]",
			"/v1/environments/e/resources/fs::File[a,path=%2Fetc%2Fx]"},
		{"of a name", "/v1/environments/e/parameters/a/b", "/v1/environments/e/parameters/a%2Fb"},
		{"of a name whose history is asked for", "/v1/environments/e/parameters/a/b/history",
			"/v1/environments/e/parameters/a%2Fb/history"},
		{"what is escaped stays", "/v1/environments/e/parameters/a%2Fb/c%20d",
			"/v1/environments/e/parameters/a%2Fb%2Fc%20d"},
		{"a history is left alone", "/v1/environments/e/parameters/a/history", ""},
		{"so is another kind", "/v1/environments/e/versions/3/resources", ""},
		{"and what is about no environment", "/v1/types/a/b", ""},
		{"a list", "/v1/environments/e/resources", ""},
		{"a list with a slash", "/v1/environments/e/resources/", ""},
	} {
		u := joined(httptest.NewRequest(http.MethodGet, c.path, nil).URL)
		got := ""
		if u != nil {
			got = u.EscapedPath()
		}
		if got != c.want {
			t.Errorf("%s: %s became %q, want %q", c.why, c.path, got, c.want)
		}
	}
}
