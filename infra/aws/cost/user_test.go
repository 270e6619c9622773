//go:build servers

package cost_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"southbound/handlers"
	"southbound/shared/api"
	awshome "southbound/shared/aws/home"
	"southbound/shared/cli"
)

// site is what people reach of a stack: the functions behind the two URLs. They know nothing when
// they begin.
type site struct {
	url   string
	calls atomic.Int64 // of the URLs
}

// serve begins them.
func (s *stack) serve() *site {
	s.t.Helper()
	out := &site{}
	service := func(h *awshome.Home, export string) *api.Service {
		h.Signer.Credentials = credentials.NewStaticCredentialsProvider("test", "test", "")
		return api.New(api.Config{Engine: h.Engine, About: api.Discovery{ExportURL: export},
			Sign: func(ctx context.Context, hash string, size int64) (api.Upload, error) {
				u, err := h.Signer.Upload(ctx, hash, size, time.Hour)
				return api.Upload(u), err
			}})
	}
	counted := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			out.calls.Add(1)
			next.ServeHTTP(w, r)
		})
	}
	exports := s.open(true)
	routes := api.ExportHandler(service(exports, ""))
	export := httptest.NewServer(
		counted(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			routes.ServeHTTP(w, r)
			s.prepare(exports)
		})))
	s.t.Cleanup(export.Close)
	all := httptest.NewServer(counted(api.Handler(service(s.open(false), export.URL))))
	s.t.Cleanup(all.Close)
	out.url = all.URL
	return out
}

// run runs the command line while the functions behind queues do their work, and returns what all
// of it took.
func (s *stack) run(at *site, agents int, args ...string) (requests, calls int64) {
	s.t.Helper()
	s.t.Setenv("SOUTHBOUND_API", at.url)
	s.t.Setenv("SOUTHBOUND_ENVIRONMENT", "prod")
	s.meter.Take()
	at.calls.Store(0)
	var said bytes.Buffer
	code := make(chan int)
	go func() { code <- cli.Main(handlers.All(), args, strings.NewReader(""), &said, &said) }()
	for {
		select {
		case got := <-code:
			if got != 0 {
				s.t.Fatalf("southbound %v: exit code %d\n%s", args, got, said.String())
			}
			took := s.meter.Take()
			s.t.Logf("southbound %v: %d calls of the API\n%s\n%s", args, at.calls.Load(),
				said.String(), took)
			return int64(took.Sum().Calls), at.calls.Load()
		case <-s.sent.some:
			s.drain(agents)
		}
	}
}

// documents writes resources on agents, some of which differ from those of another revision.
func documents(t *testing.T, dir string, n, agents, changed int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("southbound: 1\nagents:\n")
	for a := range agents {
		fmt.Fprintf(&b, "  %s: {transport: aws, region: us-east-1}\n", agentName(a))
	}
	b.WriteString("resources:\n")
	for i := range n {
		value := "same"
		if i < changed {
			value = "changed"
		}
		fmt.Fprintf(&b,
			"- {type: std::Null, agent: %s, attributes: {name: \"n%06d\", value: %s}}\n",
			agentName(i%agents), i, value)
	}
	if err := os.WriteFile(filepath.Join(dir, "site.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWhatAUserSees counts what `southbound export --wait` takes in all, with functions that know
// nothing: the calls of the two URLs, and all that the functions ask for.
func TestWhatAUserSees(t *testing.T) {
	s, dir := newStack(t), t.TempDir()
	documents(t, dir, 1000, 10, 0)
	s.run(s.serve(), 10, "export", dir, "--wait")
	s.restart()
	requests, calls := s.run(s.serve(), 10, "export", dir, "--wait")
	if requests > 6 || calls > 3 {
		t.Errorf("an export that changes nothing takes %d requests in %d calls", requests, calls)
	}
	lines := []string{"| what a user sees, with functions that know nothing | calls of the URLs " +
		"| requests of the functions |", "|---|---|---|",
		fmt.Sprintf("| `southbound export --wait` of 1,000 on 10 agents, nothing changed | "+
			"%d | %d |", calls, requests)}
	s.restart()
	documents(t, dir, 1000, 10, 10)
	requests, calls = s.run(s.serve(), 10, "export", dir, "--wait")
	if requests > 240 { // a call of --wait more takes four or seven
		t.Errorf("one changed on each of 10 agents takes %d requests", requests)
	}
	lines = append(lines, fmt.Sprintf("| the same, one changed on each agent | %d | %d |", calls,
		requests))
	if *whole {
		requests, calls = fewOfMany(t)
		lines = append(lines, fmt.Sprintf("| the same of 100,000 on 1 agent, ten changed | %d | %d |",
			calls, requests))
	}
	report(t, lines)
}

// fewOfMany returns what it takes to change ten of a hundred thousand.
func fewOfMany(t *testing.T) (requests, calls int64) {
	t.Helper()
	const n, few = 100000, 10
	s, dir := newStack(t), t.TempDir()
	documents(t, dir, n, 1, 0)
	s.run(s.serve(), 1, "export", dir, "--wait")
	s.restart()
	documents(t, dir, n, 1, few)
	requests, calls = s.run(s.serve(), 1, "export", dir, "--wait")
	// Each call beyond 7 is an answer to --wait more, in two requests.
	if requests > 100+2*max(calls-7, 0) || calls > 30 {
		t.Errorf("%d changed of %d take %d requests in %d calls", few, n, requests, calls)
	}
	return requests, calls
}
