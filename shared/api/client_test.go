package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/resource"
)

type timeOf = time.Time

func pack(t *testing.T, text []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll(text, nil)
}

// TestForeignServers answer what they should not.
func TestForeignServers(t *testing.T) {
	t.Parallel()
	const about = `{"name":"southbound","api":"v1","auth":"none"}`
	for _, c := range []struct {
		why    string
		answer http.HandlerFunc
		kind   fault.Kind
	}{
		{"another program", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"name":"other"}`)
		}, fault.Foreign},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `<html>`)
		}, fault.Foreign},
		{"no such page", http.NotFound, fault.Foreign},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_10.0\r\n")
				_ = conn.Close()
			}
		}, fault.Foreign},
		{"a redirect is not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, fault.Foreign},
		{"nobody is let in", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
		}, fault.Denied},
		{"a file that was not asked about", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				_, _ = io.WriteString(w, about)
				return
			}
			_, _ = io.WriteString(w,
				`{"uploads":[{"hash":"x","method":"PUT","url":"http://127.0.0.1:1/","header":{}}]}`)
		}, fault.Foreign},
		{"signatures where nobody can sign", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"name":"southbound","api":"v1","auth":"sigv4"}`)
		}, fault.Unsupported},
	} {
		server := httptest.NewServer(c.answer)
		client, err := api.NewClient(api.ClientConfig{URL: server.URL, Clock: quick{}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Export(context.Background(), "e", deploy.Export{Model: nulls(1)}, nil)
		if !fault.Is(err, c.kind) {
			t.Errorf("%s: %q: %v", c.why, fault.KindOf(err), err)
		}
		server.Close()
	}
	for _, address := range []string{"", "nowhere", "ftp://x", "http://", "http://user:secret@x",
		"http://x?a=b"} {
		if _, err := api.NewClient(api.ClientConfig{URL: address}); !fault.Is(err, fault.Usage) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestRefusedByLambda wants to be told what Lambda says of a request that no function got, as far
// as it is text, and what can be done about it.
func TestRefusedByLambda(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		body       string
		says, hint string
	}{
		{403, `{"message":"The security token included in the request is expired"}`,
			"the answer is 403 Forbidden: The security token included in the request is expired",
			"check the credentials"},
		{403, `{"Message":"Forbidden. See the documentation."}`,
			"403 Forbidden: Forbidden. See the documentation.", "permission to invoke the function"},
		{403, `{"Message":"` + strings.Repeat("long ", 1000) + `"}`, "long …", ""},
		{403, `{"Message":"\u001b[31mred"}`, "403 Forbidden: [31mred", ""},
		{403, `<html>`, "the answer is 403 Forbidden", ""},
		{429, `{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded","Type":"User",` +
			`"message":"Rate Exceeded."}`, "429 Too Many Requests: Rate Exceeded.",
			"concurrent functions"},
	} {
		server := httptest.NewServer(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
		client, err := api.NewClient(api.ClientConfig{URL: server.URL, Clock: quick{}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Progress(t.Context(), "e")
		if err == nil || !strings.HasSuffix(err.Error(), c.says) || len(err.Error()) > 500 ||
			!strings.Contains(fault.HintOf(err), c.hint) {
			t.Errorf("%s: %v (%s)", c.body, err, fault.HintOf(err))
		}
		server.Close()
	}
}

// TestGivesUp wants a server that is not there to be named after a few tries.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	via := roundTrip(func(*http.Request) (*http.Response, error) {
		tries.Add(1)
		return nil, io.ErrUnexpectedEOF
	})
	c, err := api.NewClient(api.ClientConfig{URL: "http://server.example:1", Transport: via,
		Clock: quick{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Progress(context.Background(), "e")
	if !fault.Is(err, fault.Unavailable) || fault.HintOf(err) == "" ||
		!strings.Contains(err.Error(), "server.example:1") || tries.Load() < 3 ||
		tries.Load() > 10 {
		t.Errorf("%d tries: %v (%s)", tries.Load(), err, fault.HintOf(err))
	}
}

// TestProgressOfNothing wants what does not exist to be empty to whoever asks through the client,
// as it is in a home.
func TestProgressOfNothing(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	for _, home := range []api.Home{w.client(t), w.service} {
		p, err := home.Progress(t.Context(), "e")
		if err != nil || p.Environment != "e" || p.Last != 0 || !p.Done() || p.Counts == nil {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// TestSilent wants a server that accepts and does not answer to be given up after a while, once,
// and to hear what it did.
func TestSilent(t *testing.T) {
	t.Parallel()
	about := func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"name":"southbound","api":"v1"}`))}, nil
	}
	hangs := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	accepts := func(r *http.Request) (*http.Response, error) {
		if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
			trace.GotConn(httptrace.GotConnInfo{})
		}
		return hangs(r)
	}
	for _, c := range []struct {
		why, says string
		first     roundTrip
		later     roundTrip
		limit     time.Duration
	}{
		{"it accepts only", "did not answer within 20s", accepts, accepts, 20 * time.Second},
		{"nothing is there", "no connection within 20s", hangs, hangs, 20 * time.Second},
		{"it stops later", "did not answer within 2m", about, accepts, 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, err := api.NewClient(api.ClientConfig{URL: "http://server.example:1",
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/" {
						return c.first(r)
					}
					return c.later(r)
				})})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = client.Progress(t.Context(), "e")
			if took := time.Since(began); took != c.limit || !fault.Is(err, fault.Unavailable) ||
				!strings.Contains(err.Error(), c.says) || fault.HintOf(err) == "" {
				t.Errorf("%s: after %s: %v (%s)", c.why, took, err, fault.HintOf(err))
			}
		})
	}
}

// TestUploadStalls wants an upload of which nothing is taken any more to be given up, however long
// one may take that goes on.
func TestUploadStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := api.NewClient(api.ClientConfig{URL: "http://server.example:1",
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				body := `{"name":"southbound","api":"v1"}`
				switch {
				case r.Method == http.MethodPut:
					if _, err := r.Body.Read(make([]byte, 1)); err != nil {
						return nil, err
					}
					<-r.Context().Done()
					return nil, r.Context().Err()
				case strings.HasSuffix(r.URL.Path, "/lookup"):
					body = `{}`
				case r.URL.Path != "/":
					var asked struct {
						Files []struct {
							Hash string `json:"hash"`
						} `json:"files"`
					}
					if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
						return nil, err
					}
					body = fmt.Sprintf(`{"uploads":[{"hash":%q,"method":"PUT","url":"/f"}]}`,
						asked.Files[0].Hash)
				}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
					Body: io.NopCloser(strings.NewReader(body))}, nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = client.Export(t.Context(), "e", deploy.Export{Model: nulls(1)}, nil)
		if took := time.Since(began); took != 2*time.Minute || !fault.Is(err, fault.Unavailable) {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// quick is a clock that does not wait.
type quick struct{ local.Clock }

// Sleep implements state.Clock.
func (quick) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// TestSigned wants requests to function URLs to be signed, whatever they are for.
func TestSigned(t *testing.T) {
	t.Parallel()
	var asked, plain atomic.Int64
	answer := func(r *http.Request) (*http.Response, error) {
		body := `{"name":"southbound","api":"v1","auth":"sigv4","region":"eu-west-1","export_url":"https://y.lambda-url.eu-west-1.on.aws/"}`
		if r.URL.Path != "/" {
			body = `{}`
		}
		return &http.Response{StatusCode: 200, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	c, err := api.NewClient(api.ClientConfig{URL: "https://x.lambda-url.eu-west-1.on.aws/",
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			plain.Add(1)
			return answer(r)
		}), Sign: func(_ context.Context, host, region string) (http.RoundTripper, error) {
			if host != "x.lambda-url.eu-west-1.on.aws" || region != "eu-west-1" {
				t.Errorf("sign for %q in %q", host, region)
			}
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				asked.Add(1)
				return answer(r)
			}), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Progress(context.Background(), "e"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Known(context.Background(), "e", "x", nil); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 3 || plain.Load() != 0 {
		t.Errorf("%d requests were signed, %d were not", asked.Load(), plain.Load())
	}
}

// TestNoSecrets deploys a secret, and reads everything that the API has to say.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	const marker = "s3cr3t-marker-value"
	dir := t.TempDir()
	source := filepath.Join(dir, "secret")
	if err := os.WriteFile(source, []byte(marker+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said strings.Builder
	w := start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			next.ServeHTTP(rec, r)
			mu.Lock()
			said.WriteString(rec.Body.String())
			mu.Unlock()
			for name, v := range rec.Header() {
				w.Header()[name] = v
			}
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes())
		})
	})
	path := filepath.Join(dir, "out")
	modelOf := func() *model.Model {
		return &model.Model{
			Resources: []resource.Resource{
				{ID: resource.NewID("fs::File", "a", resource.Key{Name: "path", Value: path}),
					Type: "fs::File", Agent: "a",
					Attributes: map[string]any{"path": path,
						"content": resource.Secret{Source: "file:" + source}},
					Flags: resource.Flags{ReceiveEvents: true}}}}
	}
	c, ctx := w.client(t), context.Background()
	if _, err := c.Export(ctx, "e", deploy.Export{Model: modelOf()}, nil); err != nil {
		t.Fatal(err)
	}
	runner := &local.Runner{Engine: w.service.Engine, Notifier: w.home.Notifier,
		Ran: new(atomic.Int64)}
	if _, err := runner.Drain(ctx, "e", nil); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), marker) {
		t.Fatalf("%q, %v", b, err)
	}
	if err := os.WriteFile(path, []byte("drifted from "+marker), 0o600); err != nil {
		t.Fatal(err)
	}
	id := string(modelOf().Resources[0].ID)
	detail, err := c.Resource(ctx, "e", resource.ID(id))
	if err != nil || detail.Last == nil || detail.Status != state.StatusDeployed {
		t.Errorf("%+v, %v", detail, err)
	}
	if d, err := c.DryRun(ctx, "e", 0, nil, false); err != nil || len(d.Planned) != 1 ||
		d.Planned[0].Action != "update" {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := c.Plan(ctx, "e", deploy.Export{Model: modelOf()},
		deploy.CompareOptions{Read: true}); err != nil ||
		len(d.Planned) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	actions, err := c.Actions(ctx, "e", api.ActionQuery{})
	if err != nil || len(actions) < 2 {
		t.Errorf("%+v, %v", actions, err)
	}
	for _, what := range []string{"progress", "health", "resources", "versions", "agents",
		"parameters", "facts"} {
		if resp, _ := w.ask(t, "GET", "/v1/environments/e/"+what, ""); resp.StatusCode != 200 {
			t.Errorf("%s: %d", what, resp.StatusCode)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(said.String(), marker) || strings.Contains(said.String(), token) ||
		said.Len() < 1000 {
		t.Errorf("an answer has the secret, or nothing was said: %s", said.String())
	}
}
