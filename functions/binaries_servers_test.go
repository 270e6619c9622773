//go:build servers

// Package functions_test runs the functions as Lambda does: the binaries, over the runtime's
// interface.
package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/aws/queue"
	"southbound/shared/buildtest"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

var bin string // where the binaries are

func TestMain(m *testing.M) {
	os.Exit(server.Tests(func() int { return build(m.Run) }, server.MiniStack))
}

// build builds the programs, calls run, and removes them.
func build(run func() int) int {
	var err error
	if bin, err = os.MkdirTemp("", "southbound-functions-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	ctx, all := context.Background(), []string{}
	for _, name := range []string{"api", "compile", "export", "handler", "log", "sweep"} {
		all = append(all, "southbound/functions/"+name)
	}
	err = errors.Join(buildtest.Into(ctx, bin, []string{buildtest.ForLambda}, all...),
		buildtest.Into(ctx, bin, nil, buildtest.Southbound))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// answer is what a function answered.
type answer struct {
	path string
	body string
}

// lambda is the interface over which a function takes events.
type lambda struct {
	t       *testing.T
	timeout time.Duration
	events  chan string
	answers chan answer
	ready   chan time.Time // when the function first asked for an event
	once    sync.Once
	said    hometest.Lines
	cmd     *exec.Cmd
}

// start starts a function: one of Southbound's, or any program. It is killed when the test ends.
func start(t *testing.T, stack *hometest.Stack, program string, environ ...string) *lambda {
	t.Helper()
	r := &lambda{t: t, timeout: 2 * time.Minute, events: make(chan string),
		answers: make(chan answer, 1), ready: make(chan time.Time, 1)}
	s := httptest.NewServer(r)
	if !filepath.IsAbs(program) {
		program = filepath.Join(bin, program)
	}
	r.cmd = exec.Command(program)
	r.cmd.Env = append(append(environment(stack.Config),
		"AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(s.URL, "http://")), environ...)
	r.cmd.Stdout, r.cmd.Stderr = &r.said, &r.said
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		s.CloseClientConnections()
		s.Close()
		if t.Failed() {
			t.Logf("%s said:\n%s", program, r.said.String())
		}
	})
	return r
}

// environment is what the template tells functions, and what its outputs tell people.
func environment(c home.Config) []string {
	return []string{"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"SOUTHBOUND_LOG_LEVEL=debug",
		home.EnvTable + "=" + c.Table, home.EnvBucket + "=" + c.Bucket,
		home.EnvPrefix + "=" + c.Prefix, home.EnvLogQueue + "=" + c.LogQueue,
		home.EnvEndpoint + "=" + server.URL(server.MiniStack),
		home.EnvHandler + "=" + c.Prefix + "-handler",
		home.EnvDeadLetters + "=arn:aws:sqs:us-east-1:000000000000:" + c.Prefix + "-dead.fifo"}
}

// ServeHTTP implements http.Handler.
func (r *lambda) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost {
		body, _ := io.ReadAll(req.Body)
		w.WriteHeader(http.StatusAccepted)
		r.answers <- answer{req.URL.Path, string(body)}
		return
	}
	r.once.Do(func() { r.ready <- time.Now() })
	select {
	case e := <-r.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request-1")
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn",
			"arn:aws:lambda:us-east-1:000000000000:function:f")
		w.Header().Set("Lambda-Runtime-Deadline-Ms",
			strconv.FormatInt(time.Now().Add(r.timeout).UnixMilli(), 10))
		_, _ = io.WriteString(w, e)
	case <-req.Context().Done():
	}
}

// invoke hands an event to the function and returns its answer.
func (r *lambda) invoke(event string) answer {
	r.t.Helper()
	select {
	case r.events <- event:
	case a := <-r.answers:
		r.t.Fatalf("it answered without an event: %+v", a)
	case <-time.After(10 * time.Minute):
		r.t.Fatal("it asks for no event")
	}
	select {
	case a := <-r.answers:
		return a
	case <-time.After(10 * time.Minute):
		r.t.Fatal("no answer")
	}
	return answer{}
}

func modelOf(agent, transport string, n int, delay int64) *model.Model {
	m := &model.Model{Agents: []resource.Agent{{Name: agent, Transport: transport, Lanes: 1}}}
	if transport == "aws" {
		m.Agents[0].Options = map[string]any{"region": "us-east-1"}
	}
	for i := range n {
		name := fmt.Sprintf("r%03d", i)
		r := resource.Resource{ID: resource.NewID("std::Null", agent,
			resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: agent,
			Attributes: map[string]any{"name": name, "delay_ms": delay}}
		if i > 0 {
			r.Requires = []resource.ID{m.Resources[i-1].ID}
		}
		m.Resources = append(m.Resources, r)
	}
	return m
}

func export(t *testing.T, h *home.Home, m *model.Model) {
	t.Helper()
	if _, err := h.Engine.Export(t.Context(), "prod", deploy.Export{Model: m}); err != nil {
		t.Fatal(err)
	}
}

// received is an event with what is in the queue of an agent.
func received(t *testing.T, h *home.Home, agent string) string {
	t.Helper()
	u, err := h.Queues.URL(t.Context(), "prod", agent)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &u,
		MaxNumberOfMessages: 10, VisibilityTimeout: 720})
	if err != nil {
		t.Fatal(err)
	}
	var e events.SQSEvent
	for _, m := range out.Messages {
		e.Records = append(e.Records, events.SQSMessage{MessageId: *m.MessageId,
			ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
			Attributes: map[string]string{"ApproximateReceiveCount": "1",
				"SentTimestamp": strconv.FormatInt(time.Now().UnixMilli(), 10)},
			EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:" +
				queue.Name(h.Config.Prefix, "prod", agent)})
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func counts(t *testing.T, h *home.Home) map[state.Status]int {
	t.Helper()
	out, err := h.State.Counts(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const done = `{"batchItemFailures":[]}`

// TestHandler pins that a cold function serves a queue, tells how long that took, and that one that
// is killed in the middle loses nothing.
func TestHandler(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	export(t, h, modelOf("web1", "aws", 30, 0))
	began := time.Now()
	f := start(t, stack, "handler")
	if a := f.invoke(received(t, h, "web1")); a.body != done ||
		!strings.HasSuffix(a.path, "/request-1/response") {
		t.Errorf("%+v", a)
	}
	answered := time.Now()
	t.Logf("cold: ready after %v, 30 resources deployed and answered after %v",
		(<-f.ready).Sub(began), answered.Sub(began))
	if n := counts(t, h)[state.StatusDeployed]; n != 30 {
		t.Errorf("%d were deployed", n)
	}
	for _, want := range []string{`"request":"request-1"`, `"environment":"prod"`, `"fence":`,
		`"Deployed":30`, `"CloudWatchMetrics"`} {
		hometest.Until(t, "it says "+want,
			func() bool { return strings.Contains(f.said.String(), want) })
	}

	export(t, h, modelOf("web2", "aws", 40, 50))
	event := received(t, h, "web2")
	victim := start(t, stack, "handler")
	victim.events <- event
	hometest.Until(t, "some are deployed",
		func() bool { return counts(t, h)[state.StatusDeployed] >= 5 })
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if n := counts(t, h)[state.StatusDeployed]; n >= 40 {
		t.Fatalf("%d were deployed before it was killed", n)
	}
	// The lease of the dead process is not waited for here: that it is held says the answer, which
	// leaves the lane to the sweep.
	next := start(t, stack, "handler")
	next.timeout = 20 * time.Second
	if a := next.invoke(event); a.body != done {
		t.Errorf("%+v", a)
	}
	hometest.Until(t, "it says that the lane is busy",
		func() bool { return strings.Contains(next.said.String(), `"LanesBusy"`) })
}

// TestSweep pins that the sweep notifies lanes of what is scheduled, and sends to rest what is not.
func TestSweep(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	export(t, h, modelOf("host1", "local", 3, 0))
	u, err := h.Queues.URL(t.Context(), "prod", "host1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.SQS.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &u}); err != nil {
		t.Fatal(err)
	}
	dead := stack.Config.Prefix + "-dead.fifo" // AWS refuses a queue whose dead letters go nowhere
	if _, err := h.SQS.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &dead,
		Attributes: map[string]string{"FifoQueue": "true"}}); err != nil {
		t.Fatal(err)
	}
	f := start(t, stack, "sweep")
	// at 12:55 with the chores of each hour; without a time, with those that are due now
	for _, event := range []string{`{"time":"2026-05-01T12:00:00Z"}`, `{"time":"2026-05-01T12:55:00Z"}`, `{}`} {
		if a := f.invoke(event); !strings.HasSuffix(a.path, "/response") {
			t.Fatalf("%+v", a)
		}
	}
	if e := received(t, h, "host1"); !strings.Contains(e, "host1") {
		t.Errorf("it notified nobody: %s", e)
	}
	if _, err := h.Engine.RunAgent(t.Context(), "prod", "host1",
		time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if a := f.invoke(`{}`); !strings.HasSuffix(a.path, "/response") {
		t.Errorf("%+v", a)
	}
	rests, err := h.State.QuietUntil(t.Context())
	if err != nil || rests["prod"].IsZero() {
		t.Errorf("%v: it does not rest: %v", err, rests)
	}
}

func get(path string) string {
	return `{"version":"2.0","rawPath":"` + path +
		`","headers":{"host":"x.lambda-url.us-east-1.on.aws"},"requestContext":{"domainName":"x.lambda-url.us-east-1.on.aws",
		"authorizer":{"iam":{"userArn":"arn:aws:iam::1:user/u"}},"http":{"method":"GET","path":"` + path + `","sourceIp":"203.0.113.1"}}}`
}

// TestURLs pins that the functions behind URLs answer as an HTTP server does.
func TestURLs(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	export(t, h, modelOf("host1", "local", 3, 0))
	for name, paths := range map[string]map[string]int{"api": {"/": 200, "/openapi.json": 200,
		"/nowhere": 404}, "export": {"/": 200, "/nowhere": 404}} {
		f := start(t, stack, name)
		for path, want := range paths {
			var out events.LambdaFunctionURLResponse
			a := f.invoke(get(path))
			if err := json.Unmarshal([]byte(a.body), &out); err != nil || out.StatusCode != want ||
				!json.Valid([]byte(out.Body)) {
				t.Errorf("%s %s: %v: %.500s", name, path, err, a.body)
			}
		}
	}
}

// TestExportAsksNoHandler pins that the export function, which may not ask the handler function,
// says who may.
func TestExportAsksNoHandler(t *testing.T) {
	f := start(t, hometest.New(t, handlers.All()), "export")
	event := strings.Replace(get("/v1/environments/prod/plans"), `"GET"`, `"POST"`, 1)
	a := f.invoke(strings.Replace(event, `"headers":{`,
		`"body":"{\"chunks\":[],\"read\":true}","headers":{"content-type":"application/json",`, 1))
	if !strings.Contains(a.body, "send the request to the function of the API") {
		t.Errorf("%+v", a)
	}
}

// TestAgentRun pins that the command serves an agent of this machine, and that a signal ends it in
// order: what runs is recorded, the lease is given up, and the message is there for the next.
func TestAgentRun(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	const n = 40
	export(t, h, modelOf("host1", "local", n, 50))
	var said hometest.Lines
	cmd := exec.Command(filepath.Join(bin, "southbound"), "agent", "run", "host1", "--environment",
		"prod", "--data", t.TempDir(), "--json")
	cmd.Env, cmd.Stderr = environment(stack.Config), &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	hometest.Until(t, "some are deployed",
		func() bool { return counts(t, h)[state.StatusDeployed] >= 3 })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := h.Notifier.Notify(t.Context(), "prod",
		[]state.Notice{{Agent: "host1"}}); err != nil {
		// what it waits for comes at once
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
	p, err := h.Engine.Progress(t.Context(), "prod")
	if err != nil || len(p.Held)+len(p.Running) != 0 || p.Counts[state.StatusDeployed] >= n {
		t.Errorf("%v: %+v\n%s", err, p, said.String())
	}
	if e := received(t, h, "host1"); !strings.Contains(e, "host1") {
		t.Errorf("it kept its message: %s\n%s", e, said.String())
	}
	if !strings.Contains(said.String(), `"agent":"host1"`) ||
		!strings.Contains(said.String(), `"fence":1`) {
		t.Errorf("it said:\n%s", said.String())
	}
}

// TestCannotBegin pins that a function that is not told where the stack is says so and ends.
func TestCannotBegin(t *testing.T) {
	for _, name := range []string{"handler", "sweep", "export", "api", "compile"} {
		cmd := exec.Command(filepath.Join(bin, name))
		cmd.Env = []string{"AWS_REGION=us-east-1"}
		var said bytes.Buffer
		cmd.Stdout = &said
		if err := cmd.Run(); err == nil || !strings.Contains(said.String(), home.EnvTable) ||
			!json.Valid(said.Bytes()) {
			t.Errorf("%s: %v: %s", name, err, said.String())
		}
	}
}
