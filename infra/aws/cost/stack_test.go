//go:build servers

package cost_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/handlers"
	"southbound/infra/aws/cost"
	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	awshome "southbound/shared/aws/home"
	"southbound/shared/aws/logs"
	"southbound/shared/aws/queue"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// byService sends what is for DynamoDB to DynamoDB Local, which counts capacity as AWS does, and
// everything else to MiniStack.
type byService struct{ dynamo *url.URL }

// RoundTrip implements http.RoundTripper.
func (b byService) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB") {
		r = r.Clone(r.Context())
		r.URL.Host, r.Host = b.dynamo.Host, b.dynamo.Host
	}
	return http.DefaultTransport.RoundTrip(r)
}

// stack is the whole AWS home: processes for its functions, and a poller in place of Lambda's.
type stack struct {
	t      *testing.T
	config awshome.Config
	meter  meter.Meter // of everything the functions ask for
	sqs    *sqs.Client // of the poller; not counted, see used
	used   cost.Usage  // by the poller: polls, invocations
	sent   *sent
	// when an answer with messages may have been lost last; the emulator does not know ids of
	// attempts
	lost  time.Time
	lines lines
	plain bool
	clock state.Clock

	handler *awshome.Home
	server  *worker.Server
	logs    *logs.Log
	worked  *logs.Gatherer
}

// lines counts what functions write to their logs.
type lines struct {
	mu sync.Mutex
	n  int
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += len(b)
	return len(b), nil
}

func newStack(t *testing.T) *stack {
	t.Helper()
	mini := server.URL(server.MiniStack)
	to, err := url.Parse(server.URL(server.DynamoDB))
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{t: t}
	name := strings.ToLower(awstest.Unique(t))[:17]
	plain := awstest.Config(mini, byService{to})
	s.sqs = sqs.NewFromConfig(plain)
	if _, err := dynamodb.NewFromConfig(plain).CreateTable(t.Context(),
		dynamo.Table(name)); err != nil {
		t.Fatal(err)
	}
	if _, err := s3.NewFromConfig(plain, func(o *s3.Options) { o.UsePathStyle = true }).
		CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sqs.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("dead-" + name + ".fifo"),
			Attributes: map[string]string{"FifoQueue": "true"}}); err != nil {
		t.Fatal(err)
	}
	log, err := s.sqs.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("log-" + name)})
	if err != nil {
		t.Fatal(err)
	}
	function := name + "-handler" // it is never invoked: its mappings are disabled as they are made
	if _, err := lambda.NewFromConfig(plain).CreateFunction(t.Context(),
		&lambda.CreateFunctionInput{FunctionName: &function, Runtime: types.RuntimeProvidedal2023,
			Handler: aws.String("bootstrap"), Role: aws.String("arn:aws:iam::000000000000:role/x"),
			Code: &types.FunctionCode{ZipFile: emptyZip()}}); err != nil {
		t.Fatal(err)
	}
	s.sent = newSent(off{byService{to}})
	counted := awstest.Config(mini, s.sent)
	s.meter.Install(&counted)
	s.config = awshome.Config{Table: name, Bucket: name, Prefix: name,
		DeadLetters: "arn:aws:sqs:us-east-1:000000000000:dead-" + name + ".fifo", Handler: function,
		LogQueue: *log.QueueUrl, Endpoint: mini, Definitions: handlers.All(),
		Connector: func(state.Secrets) state.Connector { return anything{} }, AWS: &counted,
		Log: slog.New(slog.NewJSONHandler(&s.lines, nil))}
	s.restart()
	return s
}

// off makes mappings that poll nothing: the poller of the test does.
type off struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (o off) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/event-source-mappings") {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			return nil, err
		}
		text := strings.Replace(body.String(), `"Enabled":true`, `"Enabled":false`, 1)
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = http.NoBody, int64(len(text))
		r.Body = readCloser{bytes.NewReader([]byte(text))}
	}
	return o.next.RoundTrip(r)
}

type readCloser struct{ *bytes.Reader }

// Close implements io.Closer.
func (readCloser) Close() error { return nil }

// emptyZip is an archive with nothing in it.
func emptyZip() []byte { return append([]byte("PK\x05\x06"), make([]byte, 18)...) }

type anything struct{}

// Connect implements state.Connector.
func (anything) Connect(context.Context, resource.Agent) (any, error) { return nil, nil }

// open begins a process.
func (s *stack) open(makes bool) *awshome.Home {
	s.t.Helper()
	c := s.config
	c.Makes = makes
	if s.plain {
		c.Definitions = nil
		for _, d := range handlers.All() {
			d.Handler = oneByOne{d.Handler}
			c.Definitions = append(c.Definitions, d)
		}
	}
	h, err := awshome.Open(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.clock != nil {
		h.Engine.Clock = s.clock
	}
	return h
}

// restart begins the functions anew: they know nothing.
func (s *stack) restart() {
	s.t.Helper()
	s.handler = s.open(false)
	s.worked = &logs.Gatherer{Notifier: s.handler.Logs, Clock: platform.Clock{}, Log: s.config.Log}
	s.server = &worker.Server{Engine: s.handler.Engine, Notifier: s.handler.Notifier,
		Clock: platform.Clock{}, Operation: time.Second, Log: s.config.Log,
		Exists: (&worker.Index{State: s.handler.State, Work: s.handler.Engine.AgentsWithWork}).Exists,
		Ran: func(ctx context.Context, r worker.Run) { // as functions/handler does
			if r.Out.Ran > 0 {
				s.worked.Add(ctx, r.Env, r.Agent)
			}
		}}
	l := s.open(false)
	s.logs = &logs.Log{Store: l.LogStore, State: l.State, Logger: s.config.Log}
}

// export exports in a process of its own: one that knows nothing.
func (s *stack) export(m *model.Model) deploy.Exported {
	s.t.Helper()
	for i := range m.Resources {
		if len(m.Agents) == 0 || m.Agents[len(m.Agents)-1].Name != m.Resources[i].Agent &&
			len(m.Agents) <= i {
			m.Agents = append(m.Agents, resource.Agent{Name: m.Resources[i].Agent, Transport: "aws",
				Lanes: 1})
		}
	}
	m.Agents = unique(m.Agents)
	s.used.Invocations++
	h := s.open(true)
	out, err := h.Engine.Export(s.t.Context(), "prod", deploy.Export{Model: m})
	if err != nil {
		s.t.Fatal(err)
	}
	s.prepare(h)
	return out
}

// prepare does what the export function does before it answers.
func (s *stack) prepare(h *awshome.Home) {
	s.t.Helper()
	left, err := h.Provisioner.Prepare(s.t.Context(), h.Provisioner.Take(),
		time.Now().Add(time.Minute))
	if err != nil || len(left) > 0 {
		s.t.Fatalf("%v: %d agents are not prepared", err, len(left))
	}
}

func unique(agents []resource.Agent) []resource.Agent {
	seen := map[string]bool{}
	var out []resource.Agent
	for _, a := range agents {
		if !seen[a.Name] {
			seen[a.Name] = true
			out = append(out, a)
		}
	}
	return out
}

// hidden is how long a message is hidden that is received: handlers hide it for longer.
const hidden = 5 * time.Second

// receive takes messages as Lambda's pollers do, and counts their requests: those that receive and
// delete, not those that find nothing.
func (s *stack) receive(url string, limit int) []sqstypes.Message {
	s.t.Helper()
	var all []sqstypes.Message
	for len(all) < limit {
		out, err := s.sqs.ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url,
			MaxNumberOfMessages: 10, VisibilityTimeout: int32(hidden / time.Second)})
		if awserr.NoQueue(err) {
			return nil // not made yet
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if tries, ok := retry.GetAttemptResults(out.ResultMetadata); ok && len(tries.Results) > 1 {
			s.lost = time.Now()
		}
		if len(out.Messages) == 0 {
			break
		}
		s.used.Polls += 2
		all = append(all, out.Messages...)
	}
	return all
}

func (s *stack) delete(url string, messages []sqstypes.Message) {
	s.t.Helper()
	for _, m := range messages {
		if _, err := s.sqs.DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url,
			ReceiptHandle: m.ReceiptHandle}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// drain does what Lambda and the functions behind it would until all queues are empty, and returns
// how many messages notified agents.
func (s *stack) drain(agents int) (notified int) {
	s.t.Helper()
	for again := true; again; {
		lost := !s.lost.IsZero() && time.Since(s.lost) < hidden+time.Second
		again = lost
		for a := range agents {
			at := s.config.Endpoint + "/000000000000/" + queue.Name(s.config.Prefix, "prod",
				agentName(a))
			if !s.sent.to(at) && !lost {
				continue
			}
			got := s.receive(at, 10)
			if len(got) == 0 {
				continue
			}
			again = true
			s.sent.note(at) // there may be more
			notified += len(got)
			s.used.Invocations++
			batch := make([]worker.Message, len(got))
			for i, m := range got {
				batch[i] = worker.Message{ID: *m.MessageId, Receipt: *m.ReceiptHandle,
					Body: *m.Body, Receives: 1}
			}
			if failed := s.server.Serve(s.t.Context(), batch,
				&queue.Listener{API: s.handler.SQS, URL: at},
				time.Now().Add(2*time.Minute)); len(failed) > 0 {
				s.t.Fatalf("%d messages come again", len(failed))
			}
			s.worked.Flush(s.t.Context())
			s.delete(at, got)
		}
		for s.sent.to(s.config.LogQueue) || lost {
			got := s.receive(s.config.LogQueue, 100)
			if len(got) == 0 {
				break
			}
			again = true
			s.sent.note(s.config.LogQueue)
			s.used.Invocations++
			var in []events.SQSMessage
			for _, m := range got {
				in = append(in, events.SQSMessage{MessageId: *m.MessageId, Body: *m.Body})
			}
			if failed := s.logs.Take(s.t.Context(), in); len(failed) > 0 {
				s.t.Fatalf("%d messages of the log come again", len(failed))
			}
			s.delete(s.config.LogQueue, got)
		}
	}
	return notified
}

func agentName(n int) string { return "web" + strconv.Itoa(100 + n)[1:] }

// take returns what was used since the last time. The time of functions is estimated from what they
// asked for, see docs/costs.md.
func (s *stack) take(resources int) cost.Usage {
	u := s.used
	s.used = cost.Usage{}
	u.Counts = s.meter.Take()
	s.lines.mu.Lock()
	u.LogBytes, s.lines.n = s.lines.n, 0
	s.lines.mu.Unlock()
	const memory = 0.5 // GB
	u.GBSeconds = memory * (0.01*float64(u.Counts.Sum("DynamoDB.", "SQS.", "Lambda.").Calls) +
		0.03*float64(u.Counts.Sum("S3.").Calls) +
		0.01*float64(u.Invocations) + 0.0001*float64(resources))
	return u
}

// counts returns how many resources are deployed.
func (s *stack) deployed() int {
	s.t.Helper()
	c, err := s.handler.State.Counts(context.Background(), "prod")
	if err != nil {
		s.t.Fatal(err)
	}
	return c[state.StatusDeployed]
}

var _ provider.Handler = oneByOne{}
