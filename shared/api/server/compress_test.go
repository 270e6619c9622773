package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTakesGzip(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true, "gzip;q=0": false,
		"gzip; Q=0.0, *": false, "*": true, "*;q=0": false, "deflate, br": false,
		"gzip;q=x": false, "*;q=0, gzip": true,
	} {
		if got := takesGzip(list); got != want {
			t.Errorf("%q: %v", list, got)
		}
	}
}

// TestCompressed pins which answers are compressed, that they are the same answers, and that a
// client which has one is told so either way.
func TestCompressed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`{"id":"std::Null[a,name=x]"},`, 1000)
	h := conditional(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := long
		if r.URL.Path == "/short" {
			text = "{}"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}))
	ask := func(method, path, accepts, have string) *http.Response {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Accept-Encoding", accepts)
		r.Header.Set("If-None-Match", have)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	for _, c := range []struct {
		reason, method, path, accepts string
		packed                        bool
	}{
		{"a long answer", "GET", "/", "gzip", true},
		{"a long answer to what is not a question", "POST", "/", "gzip", true},
		{"a short one", "GET", "/short", "gzip", false},
		{"a client that takes no gzip", "GET", "/", "identity", false},
	} {
		a := ask(c.method, c.path, c.accepts, "")
		body := io.Reader(a.Body)
		if got := a.Header.Get("Content-Encoding") == "gzip"; got != c.packed {
			t.Errorf("%s: compressed %v", c.reason, got)
		} else if got {
			z, err := gzip.NewReader(a.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		text, err := io.ReadAll(body)
		if err != nil || c.path == "/" && string(text) != long {
			t.Errorf("%s: %v, %d bytes", c.reason, err, len(text))
		}
		if c.method == "GET" {
			for _, accepts := range []string{"gzip", "identity"} {
				if again := ask(c.method, c.path, accepts,
					a.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
					t.Errorf("%s: asked again the answer is %d", c.reason, again.StatusCode)
				}
			}
		}
		if long := c.path == "/"; long != (a.Header.Get("Vary") == "Accept-Encoding") {
			t.Errorf("%s: Vary %q", c.reason, a.Header.Get("Vary"))
		}
	}
}
