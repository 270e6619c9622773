//go:build servers

package compile

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/functions/internal/run"
	"southbound/handlers"
	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/compiles"
	"southbound/shared/aws/emf"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/compile"
	"southbound/shared/deploy/state"
	"southbound/shared/lang/eval"
	"southbound/shared/provider"
	"southbound/shared/service/bundle"
	"southbound/shared/service/callback"
	"southbound/shared/service/catalog"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/orders"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.MiniStack)) }

// sites is a service without resources.
const sites = `
import lsm
import lsm::fsm

entity Site extends lsm::ServiceEntity:
    string name
end
implement Site using parents

binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, service_entity_name="site",
)
for one in lsm::all(binding):
    Site(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// stand is a function, and the queue that it serves.
type stand struct {
	*testing.T
	f *function
}

func newStand(t *testing.T) *stand {
	t.Helper()
	return counting(t, &meter.Meter{})
}

// counting returns a stand whose requests are counted.
func counting(t *testing.T, m *meter.Meter) *stand {
	t.Helper()
	stack := hometest.New(t, handlers.All())
	m.Install(&stack.AWS)
	h := stack.Open(t, nil)
	mapper, err := provider.Mapper(h.Types, handlers.All())
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t, &function{
		Function: &run.Function{Home: h, Log: stack.Config.Log, Metrics: emf.NewSet("test")},
		dir:      t.TempDir(), limits: eval.DefaultLimits(), mapper: mapper,
		workers: map[string]*fulfil.Worker{},
		// Whoever does not answer in this test does so until it ends.
		caller: callback.NewCaller(true, time.Hour),
	}}
	s.offer(sites)
	return s
}

// offer offers the service of a model.
func (s *stand) offer(model string) {
	s.Helper()
	main := filepath.Join(s.TempDir(), "main.cf")
	s.must(os.WriteFile(main, []byte(model), 0o600))
	c, err := compile.Model(s.Context(), compile.Options{Path: main, Types: s.f.Home.Types})
	s.must(err)
	services, err := catalog.Of(c.Result)
	s.must(err)
	p, err := bundle.Pack(bundle.Model{Main: main, Modules: c.Project.Modules})
	s.must(err)
	s.must(s.f.Home.Engine.Files.Put(s.Context(), []state.Blob{
		{Hash: p.Digest, Size: int64(len(p.Data)), Data: p.Data},
	}))
	s.must(s.f.Home.Definitions.Put(s.Context(), "prod", p.Digest, services))
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// order orders a site and returns its id.
func (s *stand) order(name string) string {
	s.Helper()
	i, err := s.f.Home.Orders().Create(s.Context(), "prod", orders.Creation{
		Service: "site", Attributes: map[string]any{"name": name},
	})
	s.must(err)
	return i.ID
}

// up wants an instance to be done.
func (s *stand) up(id string) {
	s.Helper()
	r, err := s.f.Home.Instances.Instance(s.Context(), "prod", id)
	if err != nil || r.State != "up" || len(r.Tasks) > 0 {
		s.Errorf("%v: %s is %s with %v: %s", err, id, r.State, r.Tasks, r.Problems)
	}
}

// receive returns what can be received.
func (s *stand) receive() events.SQSEvent {
	s.Helper()
	var e events.SQSEvent
	for {
		got, err := s.f.Home.SQS.ReceiveMessage(s.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &s.f.Home.Config.CompileQueue, MaxNumberOfMessages: 10,
			VisibilityTimeout: 720,
		})
		s.must(err)
		if len(got.Messages) == 0 {
			return e
		}
		for _, m := range got.Messages {
			e.Records = append(e.Records, events.SQSMessage{
				MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
			})
		}
	}
}

// serve hands messages to the function, and deletes them as Lambda does.
func (s *stand) serve(e events.SQSEvent) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
	defer cancel()
	out, err := s.f.serve(ctx, e)
	if err != nil || len(out.BatchItemFailures) > 0 {
		s.Errorf("%v: %v", err, out.BatchItemFailures)
	}
	for i := range e.Records {
		if _, err := s.f.Home.SQS.DeleteMessage(s.Context(), &sqs.DeleteMessageInput{
			QueueUrl: &s.f.Home.Config.CompileQueue, ReceiptHandle: &e.Records[i].ReceiptHandle,
		}); err != nil {
			s.Error(err)
		}
	}
}

// said returns what messages say: "calls", "late calls" or "orders", sorted.
func (s *stand) said(e events.SQSEvent) string {
	s.Helper()
	var out []string
	for i := range e.Records {
		m, err := compiles.Decode(e.Records[i].Body)
		switch {
		case err != nil:
			s.Error(err)
		case m.Late > 0:
			out = append(out, "late calls")
		case m.Calls:
			out = append(out, "calls")
		default:
			out = append(out, "orders")
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

func (s *stand) says(e events.SQSEvent, want string) {
	s.Helper()
	if got := s.said(e); got != want {
		s.Errorf("there are messages of %q, expected %q", got, want)
	}
}

// hung is a server that does not answer until it is let.
type hung struct {
	*httptest.Server
	reached chan struct{}
	let     chan struct{}
	mu      sync.Mutex
	heard   map[string]int // events, by the instance
}

func newHung(t *testing.T) *hung {
	t.Helper()
	h := &hung{
		reached: make(chan struct{}, 1), let: make(chan struct{}), heard: map[string]int{},
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var b callback.Body
		if json.NewDecoder(r.Body).Decode(&b) != nil {
			return
		}
		select {
		case h.reached <- struct{}{}:
		default:
		}
		<-h.let
		h.mu.Lock()
		defer h.mu.Unlock()
		h.heard[b.Instance]++
	}))
	t.Cleanup(h.Close)
	return h
}

// TestOrdersWaitForNoCall has a callback hang: orders are done that come with its notice, and those
// that come while it is called. Then all is told.
func TestOrdersWaitForNoCall(t *testing.T) {
	s, h := newStand(t), newHung(t)
	s.must(s.f.Home.Callbacks.Register(t.Context(), "prod", callback.Callback{ID: "a", URL: h.URL}))
	one := s.order("one")
	both := s.receive()
	s.says(both, "calls, orders")
	s.serve(both)
	s.up(one)
	if len(h.reached) > 0 {
		t.Error("calls are made where orders would wait for them")
	}
	calls := s.receive()
	s.says(calls, "calls, late calls")

	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve(calls)
	}()
	<-h.reached
	two := s.order("two")
	more := s.receive() // the calls are another group, which is at work
	s.says(more, "orders")
	other := &stand{t, &function{ // Lambda has several
		Function: s.f.Function, dir: t.TempDir(), limits: s.f.limits, mapper: s.f.mapper,
		workers: map[string]*fulfil.Worker{}, caller: s.f.caller,
	}}
	other.serve(more)
	s.up(two)
	close(h.let)
	<-done
	for left := s.receive(); len(left.Records) > 0; left = s.receive() {
		s.serve(left)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range []string{one, two} {
		events, err := s.f.Home.Instances.Events(t.Context(), "prod", id, 0, 0)
		if err != nil || len(events) == 0 || h.heard[id] != len(events) {
			t.Errorf("%v: of %d events %d were told", err, len(events), h.heard[id])
		}
	}
	if waits, err := s.f.Home.Callbacks.Waits(t.Context(), "prod"); waits || err != nil {
		t.Errorf("%v: something is left to be told: %v", err, waits)
	}
}

// TestLateCalls makes calls that came with orders too often.
func TestLateCalls(t *testing.T) {
	s, h := newStand(t), newHung(t)
	close(h.let)
	s.must(s.f.Home.Callbacks.Register(t.Context(), "prod", callback.Callback{ID: "a", URL: h.URL}))
	one := s.order("one")
	for late := range maxLate {
		e := s.receive()
		if late > 0 {
			s.must(s.f.Home.Compiles.Notify(t.Context(), "prod", one))
			e.Records = append(e.Records, s.receive().Records...)
		}
		s.serve(e)
		if len(h.reached) > 0 {
			t.Errorf("calls that were put off %d times are made with orders", late)
		}
	}
	e := s.receive()
	s.must(s.f.Home.Compiles.Notify(t.Context(), "prod", one))
	e.Records = append(e.Records, s.receive().Records...)
	s.says(e, "late calls, orders")
	s.serve(e)
	if len(h.reached) == 0 {
		t.Errorf("calls that were put off %d times are not made", maxLate)
	}
}

// TestRequestsOfCalls counts what the calls of a notice ask of AWS, as docs/costs.md says: the
// message is kept, callbacks and what is to be told are read, and of an instance its events and
// what was told, which is noted.
func TestRequestsOfCalls(t *testing.T) {
	m := &meter.Meter{}
	s, h := counting(t, m), newHung(t)
	close(h.let)
	s.must(s.f.Home.Callbacks.Register(t.Context(), "prod", callback.Callback{ID: "a", URL: h.URL}))
	s.order("one")
	s.serve(s.receive())
	calls := s.receive()
	s.says(calls, "calls, late calls")
	m.Take()
	s.serve(calls)
	got := 0
	for name, n := range m.Take() {
		if !strings.HasSuffix(name, "DeleteMessage") { // Lambda's
			got += n.Calls
		}
	}
	if got != 6 {
		t.Errorf("%d requests", got)
	}
}
