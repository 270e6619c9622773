//go:build servers

package provision_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/handlers/std"
	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/bucket"
	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/provision"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.MiniStack)) }

// clock is the time of the machine, moved.
type clock struct {
	platform.Clock
	ahead *atomic.Int64
}

// Now implements state.Clock.
func (c clock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.ahead.Load())) }

// world is a stack: a table, a bucket, a handler function and a queue for dead letters.
type world struct {
	t           *testing.T
	name        string
	deadLetters string
	rules       *awstest.Mappings
	ahead       atomic.Int64
	ids         *platform.IDs
	plain       *sqs.Client
	lambda      *lambda.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, name: strings.ToLower(awstest.Unique(t)),
		rules: &awstest.Mappings{Slow: 1, Unseen: 1}, ids: platform.NewIDs()}
	w.name = w.name[:17] // what is unique of it, without the name of the test
	c := awstest.Config(server.URL(server.MiniStack), nil)
	w.plain, w.lambda = sqs.NewFromConfig(c), lambda.NewFromConfig(c)
	if _, err := dynamodb.NewFromConfig(c).CreateTable(t.Context(),
		dynamo.Table(w.name)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s3(c).CreateBucket(t.Context(),
		&s3.CreateBucketInput{Bucket: &w.name}); err != nil {
		t.Fatal(err)
	}
	dead, err := w.plain.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("dead-" + w.name + ".fifo"),
			Attributes: map[string]string{"FifoQueue": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	w.deadLetters = w.attributes(aws.ToString(dead.QueueUrl))["QueueArn"]
	w.function(w.name)
	return w
}

func (*world) s3(c aws.Config) *s3.Client {
	return s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
}

// handler is a function that says that it handled everything. Many are started, and this starts in
// a few milliseconds.
const handler = `#!/usr/bin/env bash
at=/2018-06-01/runtime/invocation
ask() { # METHOD PATH BODY: and keep the id of the invocation that is answered with
  exec 3<>"/dev/tcp/${AWS_LAMBDA_RUNTIME_API/:/\/}" || exit 1
  printf '%s %s HTTP/1.1\r\nHost: runtime\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
    "$1" "$at/$2" ${#3} "$3" >&3
  id=
  while IFS=$': \r' read -r name value _ <&3 && [ -n "$name" ]; do
    [ "${name,,}" != lambda-runtime-aws-request-id ] || id=$value
  done
  read -r -d '' _ <&3
  exec 3>&-
}
while ask GET next '' && [ -n "$id" ]; do
  ask POST "$id/response" '{"batchItemFailures":[]}'
done
`

// function makes a function.
func (w *world) function(name string) {
	w.t.Helper()
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	h.SetMode(0o755)
	f, err := z.CreateHeader(h)
	if err == nil {
		_, err = f.Write([]byte(handler))
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		_, err = w.lambda.CreateFunction(w.t.Context(),
			&lambda.CreateFunctionInput{FunctionName: &name, Runtime: types.RuntimeProvidedal2023,
				Handler: aws.String("bootstrap"),
				Role:    aws.String("arn:aws:iam::000000000000:role/x"),
				Code:    &types.FunctionCode{ZipFile: zipped.Bytes()}, Timeout: aws.Int32(60)})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) attributes(url string) map[string]string {
	w.t.Helper()
	out, err := w.plain.GetQueueAttributes(w.t.Context(),
		&sqs.GetQueueAttributesInput{QueueUrl: &url,
			AttributeNames: []sqstypes.QueueAttributeName{"All"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Attributes
}

// process is one process of the stack: it knows nothing but what is stored.
type process struct {
	*provision.Provisioner
	w      *world
	engine *deploy.Engine
	state  *dynamo.State
	meter  meter.Meter
}

// start begins a process whose requests to SQS and Lambda go through faults, when these are not
// nil.
func (w *world) start(faults *awstest.Faults, change ...func(c *provision.Config)) *process {
	w.t.Helper()
	p := &process{w: w}
	plain := awstest.Config(server.URL(server.MiniStack), nil)
	p.meter.Install(&plain)
	objects := w.s3(plain)
	var err error
	if p.state, err = dynamo.New(dynamo.Config{API: dynamodb.NewFromConfig(plain), Table: w.name}); err != nil {
		w.t.Fatal(err)
	}
	var via http.RoundTripper = w.rules
	if faults != nil {
		faults.Next = w.rules
		via = faults
	}
	c := awstest.Config(server.URL(server.MiniStack), via)
	p.meter.Install(&c)
	queues := sqs.NewFromConfig(c)
	config := provision.Config{SQS: queues, Lambda: lambda.NewFromConfig(c), State: p.state,
		Clock: clock{ahead: &w.ahead}, Prefix: w.name,
		Base:     server.URL(server.MiniStack) + "/000000000000/",
		Function: w.name, Timeout: time.Minute, DeadLetters: w.deadLetters,
		IdleAfter: 14 * 24 * time.Hour}
	for _, f := range change {
		f(&config)
	}
	if p.Provisioner, err = provision.New(config); err != nil {
		w.t.Fatal(err)
	}
	registry, err := schema.NewRegistry(provider.Types([]provider.Definition{std.Null()})...)
	if err != nil {
		w.t.Fatal(err)
	}
	p.engine = deploy.New(deploy.Config{State: p.state, Files: bucket.NewFiles(objects, w.name),
		Notifier: queue.NewNotifier(queues, p.Queues()), Clock: clock{ahead: &w.ahead},
		Caller: platform.Caller{}, Secrets: nothing{}, Connector: nothing{}, Types: registry,
		Handlers: provider.Handlers([]provider.Definition{std.Null()}), Pack: "test",
		Holder: w.ids.Holder + fmt.Sprint(time.Now().UnixNano()),
		NewID:  w.ids.NewID, Jitter: func() float64 { return 0.5 }})
	return p
}

type nothing struct{}

// Resolve implements state.Secrets.
func (nothing) Resolve(context.Context, resource.Secret) (value, version string, err error) {
	return "", "", nil
}

// Connect implements state.Connector.
func (nothing) Connect(context.Context, resource.Agent) (any, error) { return nil, nil }

// export exports a resource for each agent; another revision changes all of them. Agents that begin
// with "local" are local.
func (p *process) export(revision int, agents ...string) {
	p.w.t.Helper()
	m := &model.Model{}
	for _, agent := range agents {
		name := fmt.Sprintf("r%d", revision)
		m.Resources = append(m.Resources,
			resource.Resource{ID: resource.NewID("std::Null", agent,
				resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: agent,
				Attributes: map[string]any{"name": name}})
		transport := "aws"
		if strings.HasPrefix(agent, "local") {
			transport = "local"
		}
		m.Agents = append(m.Agents, resource.Agent{Name: agent, Transport: transport, Lanes: 1})
	}
	if _, err := p.engine.Export(p.w.t.Context(), "prod",
		deploy.Export{Model: m, Settings: &state.Settings{KeepVersions: 1}}); err != nil {
		p.w.t.Fatal(err)
	}
}

// serve does all work that there is, as the handler function would.
func (p *process) serve() {
	p.w.t.Helper()
	for {
		lanes, err := p.engine.AgentsWithWork(p.w.t.Context(), "prod")
		if err != nil {
			p.w.t.Fatal(err)
		}
		if len(lanes) == 0 {
			return
		}
		for _, lane := range lanes {
			if _, err := p.engine.RunAgent(p.w.t.Context(), "prod", lane,
				p.w.clock().Now().Add(time.Minute)); err != nil {
				p.w.t.Fatal(err)
			}
		}
	}
}

func (w *world) clock() clock { return clock{ahead: &w.ahead} }

// later moves the clock of all processes.
func (w *world) later(d time.Duration) { w.ahead.Add(int64(d)) }

// url returns the URL of the queue of an agent.
func (w *world) url(agent string) string {
	return server.URL(server.MiniStack) + "/000000000000/" + queue.Name(w.name, "prod", agent)
}

// mappings returns the states of all mappings of the queue of an agent, as the server has them.
func (w *world) mappings(agent string) []types.EventSourceMappingConfiguration {
	w.t.Helper()
	arn := w.deadLetters[:strings.LastIndexByte(w.deadLetters, ':')+1] +
		queue.Name(w.name, "prod", agent)
	out, err := w.lambda.ListEventSourceMappings(w.t.Context(),
		&lambda.ListEventSourceMappingsInput{EventSourceArn: &arn})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.EventSourceMappings
}

// states returns "Enabled" where an agent has one mapping that is enabled, and so on.
func (w *world) states(agent string) string {
	w.t.Helper()
	var all []string
	for _, m := range w.mappings(agent) {
		all = append(all, aws.ToString(m.State))
	}
	return strings.Join(all, " ")
}

// waiting returns how many messages a queue holds, hidden ones included.
func (w *world) waiting(agent string) int {
	w.t.Helper()
	a := w.attributes(w.url(agent))
	var seen, hidden int
	_, _ = fmt.Sscan(a["ApproximateNumberOfMessages"], &seen)
	_, _ = fmt.Sscan(a["ApproximateNumberOfMessagesNotVisible"], &hidden)
	return seen + hidden
}

// heard waits until the handler function has taken all messages of an agent.
func (w *world) heard(agent string) {
	w.t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for w.waiting(agent) > 0 {
		if time.Now().After(deadline) {
			w.t.Fatalf("nobody takes the messages of %s; mappings: %s", agent, w.states(agent))
		}
		<-tick.C
	}
}

// disable disables the mapping of an agent behind everybody's back.
func (w *world) disable(agent string) {
	w.t.Helper()
	for _, m := range w.mappings(agent) {
		if _, err := w.lambda.UpdateEventSourceMapping(w.t.Context(),
			&lambda.UpdateEventSourceMappingInput{UUID: m.UUID,
				Enabled: aws.Bool(false)}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// finishMapping lets a change of the mapping of an agent come to its end.
func (w *world) finishMapping(agent string) {
	w.t.Helper()
	api := lambda.NewFromConfig(awstest.Config(server.URL(server.MiniStack), w.rules))
	for _, m := range w.mappings(agent) {
		for range w.rules.Slow + 1 {
			if _, err := api.GetEventSourceMapping(w.t.Context(),
				&lambda.GetEventSourceMappingInput{UUID: m.UUID}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// forgetVersion lets retention forget all versions but the last.
func (w *world) forgetVersion(p *process) {
	w.t.Helper()
	if _, err := p.engine.Collect(w.t.Context(), "prod", 0); err != nil {
		w.t.Fatal(err)
	}
	versions, err := p.state.Versions(w.t.Context(), "prod")
	if err != nil || len(versions) != 1 {
		w.t.Fatalf("%v: %d versions", err, len(versions))
	}
}

// stopAfter lets a number of requests through, and none after them.
func stopAfter(n int) *awstest.Faults {
	var calls atomic.Int64
	return &awstest.Faults{Decide: func(string, []byte) awstest.Fault {
		if calls.Add(1) > int64(n) {
			return awstest.Drop
		}
		return awstest.None
	}}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// after calls f after every request.
func after(next http.RoundTripper, f func()) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(r)
		f()
		return res, err
	})
}
