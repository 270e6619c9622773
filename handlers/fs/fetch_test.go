package fs

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func sha512Of(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512:" + hex.EncodeToString(sum[:])
}

// publisher is a server of archives.
type publisher struct {
	*httptest.Server
	asked atomic.Int64
	one   []byte
	two   []byte
}

func publish(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{}
	p.one, p.two = versions(t)
	give := func(data []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			p.asked.Add(1)
			_, _ = w.Write(data)
		}
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		give(p.one)(w, r)
	}))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.Handle("/one", give(p.one))
	mux.Handle("/two", give(p.two))
	mux.Handle("/moved", http.RedirectHandler("/one", http.StatusFound))
	mux.Handle("/elsewhere",
		http.RedirectHandler(strings.Replace(other.URL, "127.0.0.1", "localhost", 1),
			http.StatusFound))
	mux.Handle("/port", http.RedirectHandler(other.URL, http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.HandleFunc("/private", func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "s3cr3t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		give(p.one)(w, r)
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(p.one)+100))
		_, _ = w.Write(p.one)
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		for range 40 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func TestArchiveFetched(t *testing.T) {
	p := publish(t)
	g := newRig(t, Archive())
	attrs := map[string]any{"path": g.path("a"), "source": p.URL + "/moved",
		"checksum": sha256Of(p.one)}
	g.must(g.resource(attrs), diff.Created)
	if n := p.asked.Load(); n != 1 {
		t.Errorf("it was fetched %d times", n)
	}
	attrs["checksum"] = sha512Of(p.one)
	g.must(g.resource(attrs), diff.NoChange)
	attrs["source"] = g.host.AddFile(p.one) // the same, from elsewhere
	g.must(g.resource(attrs), diff.NoChange)
	attrs["source"], attrs["checksum"] = p.URL+"/two", sha512Of(p.two)
	g.must(g.resource(attrs), diff.Updated)
	g.do(os.Remove(g.path("a/app/run")))
	g.must(g.resource(attrs), diff.Updated)
	if n := p.asked.Load(); n != 3 {
		t.Errorf("it was fetched %d times; it is needed when something has to be unpacked, and "+
			"only then", n)
	}
	p.Close()
	g.must(g.resource(attrs), diff.NoChange)
	r := g.resource(attrs)
	r.Purged = true
	g.must(r, diff.Purged)
}

func TestArchiveNotFetched(t *testing.T) {
	p := publish(t)
	for why, tc := range map[string]struct {
		path  string
		attrs map[string]any
		class provider.Class
		part  string
	}{
		"other bytes": {"/two", nil, provider.NeedsChange, "not the desired one"},
		"cut short":   {"/cut", nil, provider.Retryable, "unexpected EOF"},
		"too much": {"/long", map[string]any{"max_size": int64(1000),
			"max_files": int64(10)}, provider.NeedsChange, "more"},
		"sent round": {"/round", nil, provider.Terminal, "more than 10 times"},
		"not for everybody": {"/private", nil, provider.Terminal,
			"401 Unauthorized; see username"},
		"not there":            {"/none?token=s3cr3t", nil, provider.Retryable, "404"},
		"for the time being":   {"/busy", nil, provider.Retryable, "503"},
		"a user is not shared": {"/elsewhere", map[string]any{"username": "me"}, "", ""},
		"nor with a port":      {"/port", map[string]any{"username": "me"}, "", ""},
	} {
		t.Run(why, func(t *testing.T) {
			g := newRig(t, Archive())
			attrs := map[string]any{"path": g.path("a"), "source": p.URL + tc.path,
				"checksum": sha256Of(p.one)}
			for k, v := range tc.attrs {
				attrs[k] = v
			}
			if tc.class == "" {
				g.must(g.resource(attrs), diff.Created)
				return
			}
			g.fails(g.resource(attrs), tc.class, tc.part)
			if _, _, err := g.apply(g.resource(attrs)); strings.Contains(err.Error(), "s3cr3t") {
				t.Error(err)
			}
			g.has()
		})
	}
	g := newRig(t, Archive())
	r := g.resource(map[string]any{"path": g.path("a"), "source": "https://127.0.0.1:1/x",
		"checksum": sha256Of(p.one)})
	g.fails(r, provider.Retryable, "127.0.0.1:1")
	// A password needs https, which the test has not: what a document cannot say is given to the
	// handler itself.
	to := func(s string) *http.Request { u, _ := url.Parse(s); return &http.Request{URL: u} }
	if err := client().CheckRedirect(to("http://b/"),
		[]*http.Request{to("https://a/")}); err == nil {
		t.Error("it goes from https to http")
	}
	for host, kept := range map[string]bool{"https://a.example/y": true,
		"https://b.a.example/": false, "https://a.example:8443/": false, "https://b/": false} {
		next := to(host)
		next.Header = http.Header{"Authorization": {"Basic eDp5"}}
		first := []*http.Request{to("https://a.example/x")}
		if err := client().CheckRedirect(next, first); err != nil ||
			(next.Header.Get("Authorization") != "") != kept {
			t.Errorf("%s: %v, %v", host, next.Header, err)
		}
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	g.fails(g.resource(map[string]any{"path": g.path("a"), "source": secure.URL,
		"checksum": sha256Of(p.one)}), provider.Terminal, "who signed")
}

func TestArchiveURLs(t *testing.T) {
	sum := sha256Of(nil)
	for why, tc := range map[string]struct {
		attrs map[string]any
		part  string
	}{
		"no checksum": {map[string]any{"source": "https://a.example/x"}, "checksum"},
		"a password in the URL": {map[string]any{"source": "https://a:b@a.example/x",
			"checksum": sum}, "would be shown"},
		"no host": {map[string]any{"source": "https:///x", "checksum": sum},
			"name of a host"},
		"another scheme": {map[string]any{"source": "ftp://a.example/x", "checksum": sum},
			"absolute path"},
		"fine": {map[string]any{"source": "https://a.example/x?y=z", "checksum": sum}, ""},
	} {
		tc.attrs["path"] = "/x"
		_, problems := newRig(t, Archive()).typ.Check(tc.attrs)
		if got := fmt.Sprintf("%+v", problems); (len(problems) > 0) != (tc.part != "") ||
			!strings.Contains(got, tc.part) {
			t.Error(why, got)
		}
	}
}
