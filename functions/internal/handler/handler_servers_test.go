//go:build servers

package handler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/functions/internal/run"
	"southbound/handlers"
	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/api"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/emf"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/platform"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == transport.MachineArgument { // put on a machine
		Main(handlers.All())
		return
	}
	if at := os.Getenv("HANDLER_TEST_VICTIM"); at != "" {
		os.Exit(victim(at))
	}
	os.Exit(server.Tests(m.Run, server.MiniStack))
}

// stack is a stack, and how to be its functions.
type stack struct {
	*hometest.Stack
	t     *testing.T
	admin *home.Home // exports
	wait  int32      // seconds for which a message is waited for
	// seconds for which received messages are hidden; 0: twelve minutes, as in the queues of a
	// stack
	hidden int32
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{Stack: hometest.New(t, handlers.All()), t: t}
	s.admin = s.Open(t, nil)
	return s
}

// begin begins a process of the handler function.
func (s *stack) begin(change func(c *home.Config)) *function {
	s.t.Helper()
	f := &function{Function: &run.Function{Log: s.Config.Log, Metrics: emf.NewSet("test")}}
	f.Home = s.Open(s.t, func(c *home.Config) {
		c.Leave, c.Count = c.Packs.ByRunner, f.count
		if change != nil {
			change(c)
		}
	})
	f.prepare()
	return f
}

// chain is n resources on an agent, each of which requires the one before.
func chain(agent string, lanes, n int) *model.Model {
	m := &model.Model{Agents: []resource.Agent{{Name: agent, Transport: "aws", Lanes: lanes}}}
	for i := range n {
		r := null(agent, i, nil)
		if i > 0 {
			r.Requires = []resource.ID{m.Resources[i-1].ID}
		}
		m.Resources = append(m.Resources, r)
	}
	return m
}

func null(agent string, i int, attributes map[string]any) resource.Resource {
	name := fmt.Sprintf("resource-%04d", i)
	all := map[string]any{"name": name}
	for k, v := range attributes {
		all[k] = v
	}
	return resource.Resource{ID: resource.NewID("std::Null", agent,
		resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: agent, Attributes: all}
}

func (s *stack) export(m *model.Model) {
	s.t.Helper()
	if _, err := s.admin.Engine.Export(s.t.Context(), "prod", deploy.Export{Model: m}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) queue(agent string) string {
	s.t.Helper()
	u, err := s.admin.Queues.URL(s.t.Context(), "prod", agent)
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// receive is what a mapping does: it takes messages from the queue of an agent and makes an event
// of them.
func (s *stack) receive(agent string) []events.SQSMessage {
	s.t.Helper()
	out, err := s.admin.SQS.ReceiveMessage(s.t.Context(),
		&sqs.ReceiveMessageInput{QueueUrl: aws.String(s.queue(agent)), MaxNumberOfMessages: 10,
			WaitTimeSeconds: s.wait, VisibilityTimeout: cmp.Or(s.hidden, 720),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameAll}})
	if err != nil {
		s.t.Fatal(err)
	}
	var records []events.SQSMessage
	for _, m := range out.Messages {
		records = append(records, events.SQSMessage{MessageId: *m.MessageId,
			ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
			EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:" +
				queue.Name(s.Config.Prefix, "prod", agent)})
	}
	return records
}

// invoke calls a function with messages within a timeout, and deletes those that need not come
// again.
func (s *stack) invoke(
	f *function, agent string, records []events.SQSMessage, timeout time.Duration,
) []string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	event, err := json.Marshal(events.SQSEvent{Records: records})
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := f.handle(ctx, event)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := json.Marshal(out)
	if err != nil || !bytes.HasPrefix(answer, []byte(`{"batchItemFailures":[`)) {
		s.t.Fatalf("%v: %s", err, answer)
	}
	again := []string{}
	for _, item := range out.(events.SQSEventResponse).BatchItemFailures {
		again = append(again, item.ItemIdentifier)
	}
	for _, m := range records {
		if !slices.Contains(again, m.MessageId) {
			if _, err := s.admin.SQS.DeleteMessage(s.t.Context(),
				&sqs.DeleteMessageInput{QueueUrl: aws.String(s.queue(agent)),
					ReceiptHandle: &m.ReceiptHandle}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return again
}

// drain invokes until the queue is empty, and returns how often.
func (s *stack) drain(f *function, agent string) int {
	s.t.Helper()
	for n := 0; ; n++ {
		records := s.receive(agent)
		if len(records) == 0 {
			return n
		}
		s.invoke(f, agent, records, time.Minute)
	}
}

func (s *stack) wantDeployed(n int) {
	s.t.Helper()
	if p := s.progress(); p.Counts[state.StatusDeployed] != n || !p.Done() {
		s.t.Errorf("%v; %d scheduled, outbox %d, lanes %v", p.Counts, p.Scheduled, p.Outbox,
			p.Lanes)
	}
}

func (s *stack) progress() deploy.Progress {
	s.t.Helper()
	p, err := s.begin(nil).Home.Engine.Progress(s.t.Context(), "prod")
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// TestChain pins that a chain is one invocation, on one lane and over several, and what is said of
// it.
func TestChain(t *testing.T) {
	for _, lanes := range []int{1, 4} {
		s := newStack(t)
		const n = 300
		s.export(chain("web1", lanes, n))
		var lines hometest.Lines
		f := s.begin(func(c *home.Config) {
			c.Log = slog.New(slog.NewJSONHandler(&lines,
				&slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		began := time.Now()
		if again := s.invoke(f, "web1", s.receive("web1"), 40*time.Minute); len(again) != 0 {
			t.Errorf("%v come again", again)
		}
		t.Logf("%d lanes: a chain of %d in %v", lanes, n, time.Since(began))
		s.wantDeployed(n)
		if got := strings.Count(lines.String(), `"outcome":"deployed"`); got != n {
			t.Errorf("%d lines of %d resources", got, n)
		}
		var line struct {
			Environment, Agent, Resource, Action string
			Version                              int
			Fence                                int64
		}
		if err := json.Unmarshal([]byte(strings.SplitN(lines.String(), "\n", 2)[0]),
			&line); err != nil || line.Environment != "prod" || line.Agent != "web1" ||
			line.Version != 1 || line.Fence == 0 || line.Action == "" ||
			!strings.HasPrefix(line.Resource, "std::Null[web1,") {
			t.Errorf("%v: %+v", err, line)
		}
	}
}

// TestAcrossAgents pins that lanes of other agents are notified, and finish.
func TestAcrossAgents(t *testing.T) {
	s := newStack(t)
	m := &model.Model{}
	for i := range 9 {
		r := null(fmt.Sprintf("web%d", i%3), i, nil)
		if i > 0 {
			r.Requires = []resource.ID{m.Resources[i-1].ID}
		}
		m.Resources = append(m.Resources, r)
	}
	for i := range 3 {
		m.Agents = append(m.Agents, resource.Agent{Name: fmt.Sprintf("web%d", i), Transport: "aws",
			Lanes: 1})
	}
	s.export(m)
	f := s.begin(nil)
	// the emulator loses what it answered when a connection ends, as SQS does not: such messages
	// are heard again soon
	s.hidden = 2
	hometest.Until(t, "all are deployed", func() bool {
		_ = s.drain(f, "web0") + s.drain(f, "web1") + s.drain(f, "web2")
		counts, err := s.admin.State.Counts(t.Context(), "prod")
		return err == nil && counts[state.StatusDeployed] == 9
	})
	s.wantDeployed(9)
}

// TestTimeIsUp pins that a lane that is not done when the time is up goes on in further
// invocations, of its own accord.
func TestTimeIsUp(t *testing.T) {
	s := newStack(t)
	m := chain("web1", 1, 12)
	for i := range m.Resources {
		m.Resources[i].Attributes["delay_ms"] = int64(250)
	}
	s.export(m)
	f := s.begin(nil)
	invoked := 0
	s.wait = 20
	for s.progress().Counts[state.StatusDeployed] < 12 {
		records := s.receive("web1")
		if len(records) == 0 {
			t.Fatal("no message says that there is something left to do")
		}
		if again := s.invoke(f, "web1", records, 1500*time.Millisecond); len(again) != 0 {
			t.Fatalf("%v come again", again)
		}
		invoked++
	}
	if invoked < 3 {
		t.Errorf("%d invocations of 1.5 s did 3 s of work", invoked)
	}
	s.wantDeployed(12)
}

// TestStoreIsAway pins that a fault returns messages, that they come again soon, and that nothing
// is lost by it.
func TestStoreIsAway(t *testing.T) {
	s := newStack(t)
	s.export(chain("web1", 1, 5))
	away := awstest.Config(server.URL(server.MiniStack),
		&awstest.Faults{Decide: func(operation string, _ []byte) awstest.Fault {
			if operation == "Query" || operation == "GetItem" || operation == "PutItem" ||
				operation == "TransactWriteItems" || operation == "BatchGetItem" {
				return awstest.Break
			}
			return awstest.None
		}})
	records := s.receive("web1")
	again := s.invoke(s.begin(func(c *home.Config) { c.AWS = &away }), "web1", records, time.Minute)
	if len(again) != len(records) {
		t.Errorf("%v of %d come again", again, len(records))
	}
	s.wait = 5
	f := s.begin(nil)
	for s.drain(f, "web1") == 0 { // until the messages come again
		t.Log("no message yet")
	}
	s.wantDeployed(5)
}

// TestFaultsNowAndThen pins that chains over agents end without a sweep while one in ten requests
// fails: messages come again soon, and notices that could not be sent are sent again.
func TestFaultsNowAndThen(t *testing.T) {
	s := newStack(t)
	const links, agents = 24, 3
	m := &model.Model{}
	for i := range links {
		r := null(fmt.Sprintf("web%d", i%agents), i, nil)
		if i > 0 {
			r.Requires = []resource.ID{m.Resources[i-1].ID}
		}
		m.Resources = append(m.Resources, r)
	}
	for i := range agents {
		m.Agents = append(m.Agents, resource.Agent{Name: fmt.Sprintf("web%d", i), Transport: "aws",
			Lanes: 1})
	}
	s.export(m)
	var notices []state.Notice // the first notice of an agent makes its queue
	for i := range agents {
		notices = append(notices, state.Notice{Agent: fmt.Sprintf("web%d", i)})
	}
	if err := s.admin.Notifier.Notify(t.Context(), "prod", notices); err != nil {
		t.Fatal(err)
	}
	faulty := awstest.Config(server.URL(server.MiniStack),
		&awstest.Faults{Decide: awstest.NowAndThen(10)})
	s.hidden, s.wait = 60, 1 // a message whose answer was lost is hidden for the former
	began := time.Now()
	for s.progress().Counts[state.StatusDeployed] < links {
		for i := range agents {
			f := s.begin(func(c *home.Config) { c.AWS = &faulty })
			agent := fmt.Sprintf("web%d", i)
			if records := s.receive(agent); len(records) > 0 {
				s.invoke(f, agent, records, time.Minute)
			}
		}
	}
	t.Logf("%d links over %d agents in %v", links, agents, time.Since(began))
	s.wantDeployed(links)
}

// TestRefused pins that messages which cannot be read, and messages of environments and lanes that
// do not exist, leave no record behind, are not delivered again, and are counted.
func TestRefused(t *testing.T) {
	s := newStack(t)
	s.export(chain("web1", 1, 3))
	f := s.begin(nil)
	s.drain(f, "web1")
	var records []events.SQSMessage
	for i, body := range []string{"no JSON", `{"v":1,"env":"f1/../default","agent":"../x"}`,
		`{"v":1,"env":"prod","agent":"plan"}`, `{"v":1,"env":"other","agent":"web1"}`,
		`{"v":1,"env":"prod","agent":"web1/7"}`, `{"v":1,"env":"prod","agent":"../x"}`,
		`{"v":1,"env":"prod","agent":"web1","with":["web9"]}`} {
		records = append(records, events.SQSMessage{MessageId: strconv.Itoa(i), Body: body,
			ReceiptHandle: strconv.Itoa(i)})
	}
	leases := func() []state.Lease {
		out, err := s.admin.State.Leases(t.Context(), "prod")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := len(leases())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f.Metrics = emf.NewSet("test")
	f.prepare()
	out, err := f.serve(ctx, records)
	if err != nil || len(out.BatchItemFailures) > 0 {
		t.Errorf("%v: %v come again", err, out.BatchItemFailures)
	}
	envs, err := s.admin.State.Envs(t.Context())
	if err != nil || !slices.Equal(envs, []string{"prod"}) || len(leases()) != before {
		t.Errorf("%v: environments %q, leases %v", err, envs, leases())
	}
	var metrics bytes.Buffer
	if err := f.Metrics.Flush(&metrics, time.Now(), nil); err != nil ||
		!strings.Contains(metrics.String(), `"MessagesRefused":7`) {
		t.Errorf("%v: %s", err, metrics.String())
	}
	s.wantDeployed(3)
}

// TestDuplicates pins that the same messages handled at once by several processes, and again later,
// change nothing about the outcome.
func TestDuplicates(t *testing.T) {
	s := newStack(t)
	s.export(chain("web1", 1, 60))
	records := s.receive("web1")
	var wg sync.WaitGroup
	for range 3 {
		f := s.begin(nil)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			event, _ := json.Marshal(events.SQSEvent{Records: records})
			if _, err := f.handle(ctx, event); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.wantDeployed(60)
	s.invoke(s.begin(nil), "web1", records, time.Minute)
	actions, err := s.admin.State.Actions(t.Context(), "prod",
		state.ActionQuery{Action: state.ActionDeploy})
	if err != nil || len(actions) != 60 {
		t.Errorf("%v: %d runs of 60 resources", err, len(actions))
	}
}

// TestJob pins that a comparison which takes longer than an invocation goes on in the next, with
// the record in the table and what was found in the bucket, and that a start which is doubled does
// nothing.
func TestJob(t *testing.T) {
	s := newStack(t)
	m := &model.Model{Agents: []resource.Agent{{Name: "web1", Transport: "aws", Lanes: 1}}}
	for i := range 24 {
		m.Resources = append(m.Resources, null("web1", i, nil))
	}
	s.export(m)
	f := s.begin(nil)
	starts := make(chan run.Job, 100)
	asks := api.New(api.Config{Engine: s.admin.Engine, Jobs: s.admin.State,
		Start: func(_ context.Context, env, id string) error {
			starts <- run.Job{Environment: env, ID: id}
			return nil
		}})
	const id = "00000000000000000000000000000001"
	state, err := asks.AskJob(t.Context(), "prod", id, api.ReadJob{Environment: "prod"})
	n := 0
	for ; err == nil && state.State == api.JobRunning; n++ {
		event, _ := json.Marshal(map[string]any{"job": <-starts})
		f.server.Clock = &later{}
		if n == 0 { // its time is up before anything is read
			f.server.Clock = &later{by: -time.Hour}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for range 2 {
			if _, err := f.handle(ctx, event); err != nil {
				t.Error(err)
			}
		}
		cancel()
		state, err = asks.Job(t.Context(), "prod", id)
	}
	if err != nil || state.Done == nil || state.Done.Covered != 24 || len(state.Done.Items) != 24 ||
		n != 2 {
		t.Errorf("%+v after %d slices, %v", state, n, err)
	}
}

// TestRunnersAgentsAreLeftAlone pins that the function begins and records nothing of an agent that
// it does not reach.
func TestRunnersAgentsAreLeftAlone(t *testing.T) {
	s := newStack(t)
	m := chain("host1", 1, 3)
	m.Agents[0].Transport = "local"
	s.export(m)
	s.drain(s.begin(nil), "host1")
	p, err := s.admin.Engine.Progress(t.Context(), "prod")
	if err != nil || p.Counts[state.StatusAvailable] != 3 || p.Scheduled != 3 {
		t.Errorf("%v: %v, %d scheduled", err, p.Counts, p.Scheduled)
	}
}

// TestRequests pins what an invocation costs beside the engine: one request to the agent's queue,
// and one to the log's.
func TestRequests(t *testing.T) {
	s := newStack(t)
	s.export(chain("web1", 1, 10))
	var m meter.Meter
	counted := s.AWS.Copy()
	m.Install(&counted)
	f := s.begin(func(c *home.Config) { c.AWS = &counted })
	s.invoke(f, "web1", s.receive("web1"), time.Minute)
	got := m.Take()
	if got["SQS.ChangeMessageVisibilityBatch"].Calls != 1 ||
		got["SQS.SendMessageBatch"].Calls != 1 || got.Sum("SQS").Calls != 2 {
		t.Errorf("requests:\n%s", got)
	}
	t.Logf("\n%s", got)
}

// victim is a process of the function that is killed in the middle of a lane.
func victim(where string) int {
	c, err := home.FromEnv(os.Getenv)
	if err != nil {
		return 2
	}
	conf := awstest.Config(where, nil)
	c.AWS, c.Definitions, c.Connector = &conf, handlers.All(), hometest.Connect
	h, err := home.Open(context.Background(), c)
	if err != nil {
		return 3
	}
	if _, err = h.Engine.RunAgent(context.Background(), "prod", "web1",
		time.Now().Add(time.Hour)); err != nil {
		return 4
	}
	return 5
}

// later is a clock that is ahead.
type later struct {
	platform.Clock
	by time.Duration
}

// Now implements state.Clock.
func (l *later) Now() time.Time { return l.Clock.Now().Add(l.by) }

// TestKilled pins that a process that is killed in the middle of a lane keeps nothing from being
// finished: its message comes again, its lease expires, and what it had recorded is not done again.
func TestKilled(t *testing.T) {
	s := newStack(t)
	m := chain("web1", 1, 40)
	for i := range m.Resources {
		m.Resources[i].Attributes["delay_ms"] = int64(50)
	}
	s.export(m)
	records := s.receive("web1")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HANDLER_TEST_VICTIM="+server.URL(server.MiniStack),
		home.EnvTable+"="+s.Config.Table,
		home.EnvBucket+"="+s.Config.Bucket,
		home.EnvPrefix+"="+s.Config.Prefix, home.EnvLogQueue+"="+s.Config.LogQueue,
		home.EnvEndpoint+"="+server.URL(server.MiniStack))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	before := 0
	hometest.Until(t, "some are deployed", func() bool {
		counts, err := s.admin.State.Counts(t.Context(), "prod")
		before = counts[state.StatusDeployed]
		return err == nil && before >= 5
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if before >= 40 {
		t.Fatal("it was done before it was killed")
	}
	// The message comes again when the killed process could not be running any more.
	late := &later{by: 3 * time.Minute}
	f := s.begin(nil)
	f.Home.Engine.Clock, f.server.Clock = late, late
	if again := s.invoke(f, "web1", records, 3*time.Minute+2*time.Minute); len(again) != 0 {
		t.Errorf("%v come again", again)
	}
	s.wantDeployed(40)
	actions, err := s.admin.State.Actions(t.Context(), "prod",
		state.ActionQuery{Action: state.ActionDeploy})
	if err != nil || len(actions) != 40 {
		t.Errorf("%v: %s runs of 40 resources", err, strconv.Itoa(len(actions)))
	}
}
