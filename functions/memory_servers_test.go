//go:build servers

package functions_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// The memory of the functions in this test, in megabytes: less than that of the template. On an idle
// machine a fifth less is enough; on a busy one the collector is late.
const (
	exportMemory  = "640"
	handlerMemory = "320"
)

func memoryOf(megabytes string) int {
	n, _ := strconv.Atoi(megabytes)
	return n
}

// bridge makes a function that is behind a URL an HTTP server.
func bridge(t *testing.T, f *bounded) string {
	t.Helper()
	var mu sync.Mutex // a process of a function has one event at a time
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		e := events.LambdaFunctionURLRequest{RawPath: r.URL.EscapedPath(),
			RawQueryString: r.URL.RawQuery, Headers: map[string]string{},
			Body: base64.StdEncoding.EncodeToString(body), IsBase64Encoded: true}
		for name := range r.Header {
			e.Headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		e.RequestContext.DomainName = r.Host
		e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = r.Method, "203.0.113.1"
		event, _ := json.Marshal(e)
		var out events.LambdaFunctionURLResponse
		if err := json.Unmarshal([]byte(f.call(string(event)).body), &out); err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		for name, value := range out.Headers {
			w.Header().Set(name, value)
		}
		answer := []byte(out.Body)
		if out.IsBase64Encoded {
			answer, _ = base64.StdEncoding.DecodeString(out.Body)
		}
		w.WriteHeader(out.StatusCode)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// bounded is a function that is killed when it needs more memory than it may have.
type bounded struct {
	*lambda
	ended chan struct{}
}

// call hands an event to the function, however long it takes, and returns an empty answer when the
// function has ended.
func (r *bounded) call(event string) answer {
	for {
		select {
		case r.events <- event:
			event = ""
			select {
			case a := <-r.answers:
				return a
			case <-r.ended:
				return answer{}
			}
		case <-r.ended:
			return answer{}
		}
	}
}

// within puts a function into a group of processes that has so many megabytes, where this process
// may make one: it is killed when it needs more, as in Lambda.
func (r *lambda) within(megabytes int) *bounded {
	r.t.Helper()
	out := &bounded{r, make(chan struct{})}
	go func() {
		_ = r.cmd.Wait()
		close(out.ended)
	}()
	for dir, file := range map[string]string{"/sys/fs/cgroup/memory": "memory.limit_in_bytes",
		"/sys/fs/cgroup": "memory.max"} {
		group := filepath.Join(dir, fmt.Sprintf("southbound-%d", r.cmd.Process.Pid))
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil ||
			os.Mkdir(group, 0o755) != nil {
			continue
		}
		r.t.Cleanup(func() { _ = os.Remove(group) })
		if os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(megabytes<<20)),
			0o600) == nil &&
			os.WriteFile(filepath.Join(group, "cgroup.procs"),
				[]byte(strconv.Itoa(r.cmd.Process.Pid)), 0o600) == nil {
			r.t.Logf("in %s with %d MB", group, megabytes)
			return out
		}
	}
	r.t.Logf("no group of processes can be made here: the most that was used is measured alone")
	return out
}

// peak ends a function and returns the most megabytes that it had.
func (r *bounded) peak() int {
	r.t.Helper()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	<-r.ended
	return int(r.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10) // on Linux
}

// TestManyOnOneAgent pins how much memory a hundred thousand resources on one agent take: of the
// function that exports them, and of the one that deploys them.
func TestManyOnOneAgent(t *testing.T) {
	const n = 100000
	stack := hometest.New(t, handlers.All())
	m := &model.Model{Agents: []resource.Agent{{Name: "web1", Transport: "aws", Lanes: 1,
		Options: map[string]any{"region": "us-east-1"}}}}
	for i := range n {
		name := fmt.Sprintf("resource-%06d", i)
		m.Resources = append(m.Resources,
			resource.Resource{ID: resource.NewID("std::Null", "web1",
				resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: "web1",
				Attributes: map[string]any{"name": name, "value": strings.Repeat("x", 60)}})
	}
	began := time.Now()
	exports := start(t, stack, "export", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE="+exportMemory,
		"SOUTHBOUND_LOG_LEVEL=info").within(memoryOf(exportMemory))
	exports.timeout = 5 * time.Minute
	client, err := api.NewClient(api.ClientConfig{URL: bridge(t, exports), Program: "test",
		Sign: func(context.Context, string, string) (http.RoundTripper, error) {
			return http.DefaultTransport, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := client.Export(t.Context(), "prod", deploy.Export{Model: m}, nil); err != nil ||
		out.Changed != n {
		t.Fatalf("%v: %+v", err, out)
	}
	exported := exports.peak()
	t.Logf("export: %d MB, %v", exported, time.Since(began))
	if exported > memoryOf(exportMemory) {
		t.Errorf("the export function had %d MB", exported)
	}

	h := stack.Open(t, nil)
	serves := start(t, stack, "handler", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE="+handlerMemory,
		"SOUTHBOUND_LOG_LEVEL=info").within(memoryOf(handlerMemory))
	began = time.Now()
	if err := h.Notifier.Notify(t.Context(), "prod", []state.Notice{{Agent: "web1"}}); err != nil {
		t.Fatal(err)
	}
	if a := serves.call(received(t, h, "web1")); a.body != done {
		t.Fatalf("%+v", a)
	}
	served := serves.peak()
	t.Logf("handler: %d MB, %v, %v", served, time.Since(began), counts(t, h))
	if served > memoryOf(handlerMemory) {
		t.Errorf("the handler function had %d MB", served)
	}
}
