//go:build servers

// Package cost_test counts what an engine on the ports of AWS asks of them. Budgets are on counts,
// which are the same on every machine.
package cost_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/handlers"
	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/bucket"
	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.DynamoDB, server.MiniStack)) }

// home is a place where engines can be: a table and a bucket.
type home struct {
	t      *testing.T
	table  string
	bucket string
	meter  *meter.Meter
	engine *deploy.Engine
	state  *dynamo.State
	queues *queue.Queues
	sqs    *sqs.Client
	ids    atomic.Int64
	clock  state.Clock
	plain  bool // handlers do not take several resources at once
	faults *awstest.Faults
	time   time.Duration // of an invocation; 0: a minute
}

// oneByOne hides what else a handler can do.
type oneByOne struct{ provider.Handler }

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{t: t, table: awstest.Unique(t), bucket: strings.ToLower(awstest.Unique(t)),
		meter: &meter.Meter{}, clock: local.Clock{}}
	d := dynamodb.NewFromConfig(awstest.Config(server.URL(server.DynamoDB), nil))
	if _, err := d.CreateTable(t.Context(), dynamo.Table(h.table)); err != nil &&
		!awserr.Is(err, awserr.TableInUse) {
		t.Fatal(err)
	}
	if _, err := h.s3().CreateBucket(t.Context(),
		&s3.CreateBucketInput{Bucket: &h.bucket}); err != nil {
		t.Fatal(err)
	}
	h.restart()
	h.meter.Take()
	return h
}

func (h *home) s3() *s3.Client {
	c := awstest.Config(server.URL(server.MiniStack), nil)
	h.meter.Install(&c)
	return s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
}

// restart begins a new process: one that knows nothing.
func (h *home) restart() {
	h.t.Helper()
	var via http.RoundTripper
	if h.faults != nil {
		via = h.faults
	}
	c := awstest.Config(server.URL(server.DynamoDB), via)
	h.meter.Install(&c)
	objects := h.s3()
	state, err := dynamo.New(dynamo.Config{API: dynamodb.NewFromConfig(c), Table: h.table})
	if err != nil {
		h.t.Fatal(err)
	}
	h.state = state
	q := awstest.Config(server.URL(server.MiniStack), nil)
	h.meter.Install(&q)
	h.sqs = sqs.NewFromConfig(q)
	h.queues = &queue.Queues{API: h.sqs, Prefix: h.bucket,
		Base: server.URL(server.MiniStack) + "/000000000000/"}
	byType := provider.Handlers(handlers.All())
	if h.plain {
		for name, of := range byType {
			byType[name] = oneByOne{of}
		}
	}
	registry, err := schema.NewRegistry(provider.Types(handlers.All())...)
	if err != nil {
		h.t.Fatal(err)
	}
	process := time.Now().UnixNano() & 0xffffffff
	h.engine = deploy.New(deploy.Config{State: state, Files: bucket.NewFiles(objects, h.bucket),
		Notifier: queue.NewNotifier(h.sqs, h.queues), Clock: h.clock, Caller: local.Caller{},
		Secrets: noSecrets{}, Connector: &transport.Connector{Local: true}, Types: registry,
		Handlers: byType, Pack: "test", Holder: fmt.Sprintf("%024x", time.Now().UnixNano()),
		NewID: func() string {
			return fmt.Sprintf("%012x%012x%08x", time.Now().UnixMilli(), h.ids.Add(1), process)
		}, Jitter: func() float64 { return 0.5 }})
}

type noSecrets struct{}

// Resolve implements state.Secrets.
func (noSecrets) Resolve(context.Context, resource.Secret) (value, version string, err error) {
	return "", "", nil
}

// modelOf returns n resources on agents; those below changed differ from the model with changed 0.
func modelOf(n, agents, changed int) *model.Model {
	m := &model.Model{}
	for i := range n {
		agent, name := fmt.Sprintf("web%02d", i%agents), fmt.Sprintf("resource-%06d", i)
		r := resource.Resource{ID: resource.NewID("std::Null", agent,
			resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: agent,
			Attributes: map[string]any{"name": name}}
		if i < changed {
			r.ReportOnly = true
		}
		m.Resources = append(m.Resources, r)
	}
	return m
}

func (h *home) export(m *model.Model) deploy.Exported {
	h.t.Helper()
	out, err := h.engine.Export(h.t.Context(), "prod", deploy.Export{Model: m})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// drain reads the queues of agents web00.. until they are empty, serves the lanes that were
// notified, and returns how many resources ran.
func (h *home) drain(agents int) int {
	h.t.Helper()
	total := 0
	for notified := true; notified; {
		notified = false
		for a := range agents {
			url, err := h.queues.URL(h.t.Context(), "prod", fmt.Sprintf("web%02d", a))
			if err != nil {
				h.t.Fatal(err)
			}
			l := &queue.Listener{API: h.sqs, URL: url, Hide: time.Minute}
			heard, err := l.Receive(h.t.Context(), 0)
			if err != nil && !awserr.NoQueue(errors.Unwrap(err)) {
				h.t.Fatal(err)
			}
			for _, lane := range heard {
				notified = true
				total += h.serve(lane.Env, lane.Agent)
			}
			if err := l.Done(h.t.Context(), heard...); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	return total
}

// serve runs a lane, in as many invocations as that takes: who serves queues notifies again of what
// the time of one was too short for.
func (h *home) serve(env, lane string) (ran int) {
	h.t.Helper()
	for {
		until := h.clock.Now().Add(cmp.Or(h.time, time.Minute))
		out, err := h.engine.RunAgent(h.t.Context(), env, lane, until)
		if err != nil {
			h.t.Fatal(err)
		}
		if out.Busy {
			h.t.Fatalf("somebody else serves %s", lane)
		}
		ran += out.Ran
		if !out.More || out.Ran == 0 {
			return ran
		}
	}
}

// TestTimeIsUp pins that what one invocation has no time for is not counted as left undone.
func TestTimeIsUp(t *testing.T) {
	const n = 60
	h := newHome(t)
	h.clock, h.plain, h.time = &slow{}, true, 5*time.Second
	h.restart()
	h.export(modelOf(n, 1, 0))
	if ran := h.drain(1); ran != n {
		t.Errorf("%d ran, want %d", ran, n)
	}
}

// writes are the operations that write.
var writes = []string{"DynamoDB.Put", "DynamoDB.Transact", "DynamoDB.BatchWrite", "S3.Put",
	"S3.Delete"}

func TestChangedResources(t *testing.T) {
	for _, c := range []struct{ n, agents int }{{10, 1}, {1000, 1}, {10000, 4}} {
		h := newHome(t)
		began := time.Now()
		h.export(modelOf(c.n, c.agents, 0))
		export := h.meter.Take()
		exported := time.Since(began)
		if ran := h.drain(c.agents); ran != c.n {
			t.Fatalf("%d ran, want %d", ran, c.n)
		}
		run := h.meter.Take()
		n := float64(c.n)
		w, all := export.Sum(writes...).Calls+run.Sum(writes...).Calls, export.Sum().Calls+
			run.Sum().Calls
		wcu := export.Sum().WCU + run.Sum().WCU
		t.Logf("%d resources on %d agents: %.3f requests (%.3f of them writes) and %.3f WCU, "+
			"%.3f RCU a resource; export %v, all %v\nexport:\n%srun:\n%s",
			c.n, c.agents, float64(all)/n, float64(w)/n, wcu/n, (export.Sum().RCU+run.Sum().RCU)/n,
			exported, time.Since(began), export, run)
		counts, err := h.state.Counts(t.Context(), "prod")
		if err != nil || counts[state.StatusDeployed] != c.n {
			t.Errorf("%v: %v", err, counts)
		}
		if c.n >= 1000 && (float64(w)/n > 0.5 || wcu/n > 6) {
			t.Errorf("%d resources: %.3f writes and %.3f WCU a resource", c.n, float64(w)/n, wcu/n)
		}
	}
}

// TestChainAcrossAgents pins that what goes through many agents costs in proportion to the edges
// that cross agents: twice as many cost twice as much, to deploy and to check.
func TestChainAcrossAgents(t *testing.T) {
	var deploys, repairs [2]int
	for i, agents := range []int{6, 12} {
		h, n := newHome(t), 2*agents
		m := modelOf(n, agents, 0)
		for r := 1; r < n; r++ {
			m.Resources[r].Requires = []resource.ID{m.Resources[r-1].ID}
		}
		asked := func() int {
			if ran := h.drain(agents); ran != n {
				t.Fatalf("%d ran, want %d", ran, n)
			}
			c := h.meter.Take() // without the listening of drain, which is not the engine's
			return c.Sum("DynamoDB", "S3", "SQS.SendMessage").Calls
		}
		h.export(m)
		h.meter.Take()
		deploys[i] = asked()
		if _, err := h.engine.Repair(t.Context(), "prod", deploy.Request{}); err != nil {
			t.Fatal(err)
		}
		h.meter.Take()
		repairs[i] = asked()
	}
	t.Logf("requests for 12 and for 24 resources: %v to deploy, %v to check", deploys, repairs)
	for _, c := range [][2]int{deploys, repairs} {
		if 10*c[1] > 25*c[0] {
			t.Errorf("%d requests, and %d for twice as many", c[0], c[1])
		}
	}
}

// slow is a clock on which everything takes long.
type slow struct {
	local.Clock
	n atomic.Int64
}

// Now implements state.Clock.
func (s *slow) Now() time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).
		Add(time.Duration(s.n.Add(1)) * 30 * time.Millisecond)
}

// brisk is a clock on which everything takes a tenth of its time. Into how many objects the state
// is cut depends on how fast the first run is, and shall not depend on what else the machine does.
type brisk struct {
	local.Clock
	began time.Time
}

// Now implements state.Clock.
func (b *brisk) Now() time.Time { return b.began.Add(time.Since(b.began) / 10) }

// TestOneByOne pins the budget where handlers are so slow that every result is a commit of its own:
// the dearest case.
func TestOneByOne(t *testing.T) {
	const n = 100
	h := newHome(t)
	h.clock, h.plain = &slow{}, true
	h.restart()
	h.meter.Take()
	h.export(modelOf(n, 1, 0))
	if ran := h.drain(1); ran != n {
		t.Fatalf("%d ran, want %d", ran, n)
	}
	got := h.meter.Take()
	w, wcu := float64(got.Sum(writes...).Calls)/n, got.Sum().WCU/n
	if w > 3 || wcu > 12 {
		t.Errorf("%.2f writes and %.2f WCU a resource, want at most 3 and 12", w, wcu)
	}
	t.Logf("%.2f requests (%.2f writes), %.2f WCU and %.2f RCU a resource\n%s",
		float64(got.Sum().Calls)/n, w, wcu, got.Sum().RCU/n, got)
}

// TestIdle pins that an environment without work costs one small read a minute, however many lanes
// it has, and wakes up.
func TestIdle(t *testing.T) {
	h := newHome(t)
	h.export(modelOf(40, 20, 0))
	h.drain(20)
	swept, err := h.engine.Sweep(t.Context(), "prod")
	if err != nil || swept.Notified != 0 || swept.Next.IsZero() {
		t.Fatalf("%v: %+v", err, swept)
	}
	if rests, err := h.state.MarkQuiet(t.Context(), "prod", swept.Next); err != nil || !rests {
		t.Fatalf("%v: it does not rest: %v", err, rests)
	}
	h.meter.Take()
	rest, err := h.state.QuietUntil(t.Context())
	if err != nil || !rest["prod"].Equal(swept.Next) {
		t.Fatalf("%v: %v", err, rest)
	}
	if got := h.meter.Take(); got.Sum().Calls != 1 || got.Sum().RCU > 1 {
		t.Errorf("an idle minute:\n%s", got)
	}
	h.export(modelOf(40, 20, 1))
	if rest, err := h.state.QuietUntil(t.Context()); err != nil || !rest["prod"].IsZero() {
		t.Errorf("%v: it rests with work to do until %v", err, rest["prod"])
	}
	if rests, err := h.state.MarkQuiet(t.Context(), "prod", swept.Next); err != nil || rests {
		t.Errorf("%v: it was sent to rest with work to do", err)
	}
}

// TestProcessesShareTheWork runs chains that cross agents in three processes at once, over
// connections that lose one request or answer in five, and pins that everything is deployed, each
// resource once.
func TestProcessesShareTheWork(t *testing.T) {
	const n, agents = 150, 5
	h := newHome(t)
	m := modelOf(n, agents, 0)
	for i := range m.Resources {
		if i >= agents {
			m.Resources[i].Requires = []resource.ID{m.Resources[i-agents+1].ID} // on the next agent
		}
	}
	h.export(m)
	var ran atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		p := &home{t: t, table: h.table, bucket: h.bucket, meter: h.meter, clock: local.Clock{},
			faults: &awstest.Faults{Decide: awstest.NowAndThen(5)}}
		p.restart()
		engine := p.engine
		wg.Go(func() {
			for ran.Load() < n {
				lanes, err := engine.AgentsWithWork(t.Context(), "prod")
				if err != nil && !fault.Is(err, fault.Unavailable) {
					t.Error(err)
					return
				}
				for _, lane := range lanes {
					out, err := engine.RunAgent(t.Context(), "prod", lane,
						time.Now().Add(time.Minute))
					if err != nil && !fault.Is(err, fault.Unavailable) {
						t.Error(err)
						return
					}
					ran.Add(int64(out.Ran))
				}
				if len(lanes) == 0 && err == nil {
					return
				}
			}
		})
	}
	wg.Wait()
	counts, err := h.state.Counts(t.Context(), "prod")
	if err != nil || counts[state.StatusDeployed] != n {
		t.Fatalf("%v: %v", err, counts)
	}
	actions, err := h.state.Actions(t.Context(), "prod",
		state.ActionQuery{Outcome: state.StatusDeployed})
	if err != nil || len(actions) < n {
		t.Errorf("%v: %d actions", err, len(actions))
	}
	p, err := h.engine.Progress(t.Context(), "prod")
	if err != nil || !p.Done() {
		t.Errorf("%v: %+v", err, p)
	}
}
