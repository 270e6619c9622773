package worker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/queue"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// engine is what a server calls: each agent does what its script says. The engine itself is tested
// on servers in this package, too.
type engine struct {
	mu   sync.Mutex
	runs map[string]int
	do   func(lane string, n int, until time.Time) (deploy.AgentRun, error)
}

// RunAgent implements worker.Engine.
func (e *engine) RunAgent(
	_ context.Context, _, lane string, until time.Time,
) (deploy.AgentRun, error) {
	e.mu.Lock()
	if e.runs == nil {
		e.runs = map[string]int{}
	}
	e.runs[lane]++
	n := e.runs[lane]
	e.mu.Unlock()
	return e.do(lane, n, until)
}

// far is the notifier behind the server's.
type far struct {
	mu      sync.Mutex
	notices []string
	err     error
}

// Notify implements state.Notifier.
func (f *far) Notify(_ context.Context, _ string, notices []state.Notice) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range notices {
		f.notices = append(f.notices, r.Agent)
	}
	return f.err
}

func (f *far) got() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.notices))
}

func newServer(e *engine, f *far) *worker.Server {
	return &worker.Server{Engine: e, Notifier: worker.NewNotifier(f), Clock: platform.Clock{},
		Operation: time.Second, Log: slog.New(slog.DiscardHandler)}
}

func message(id, lane string, done ...resource.ID) worker.Message {
	body, _ := json.Marshal(queue.Message{Format: 1, Env: "prod", Agent: lane, Done: done})
	return worker.Message{ID: id, Body: string(body), Receives: 1}
}

var errStore = fault.New(fault.Unavailable, "write", "the store is away")

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason   string
		batch    []worker.Message
		do       func(lane string, n int) (deploy.AgentRun, error)
		notice   error
		again    []string
		runs     map[string]int
		notified []string
	}{
		{"nothing at all is a list, not null", nil, nil, nil, []string{}, nil, nil},
		{"messages of one agent are one piece of work",
			[]worker.Message{message("1", "a"), message("2", "a", "std::Null[a,name=x]")},
			func(string, int) (deploy.AgentRun, error) { return deploy.AgentRun{Ran: 1}, nil }, nil,
			[]string{}, map[string]int{"a": 1}, nil},
		{"a fault returns all messages of its agent and of no other",
			[]worker.Message{message("1", "a"), message("2", "b"), message("3", "a")},
			func(lane string, _ int) (deploy.AgentRun, error) {
				if lane == "a" {
					return deploy.AgentRun{}, errStore
				}
				return deploy.AgentRun{}, nil
			}, nil, []string{"1", "3"}, map[string]int{"a": 1, "b": 1}, nil},
		{"what cannot be read is dropped: it can notify nobody",
			[]worker.Message{{ID: "1", Body: "{"},
				{ID: "2", Body: `{"v":99,"env":"prod","agent":"a"}`}}, nil, nil,
			[]string{}, nil, nil},
		{"time ran out: the agent notifies itself", []worker.Message{message("1", "a")},
			func(string, int) (deploy.AgentRun, error) {
				return deploy.AgentRun{Ran: 7, More: true},
					nil
			}, nil, []string{}, map[string]int{"a": 1}, []string{"a"}},
		{"time ran out and nothing was done: the sweep notifies, not the agent",
			[]worker.Message{message("1", "a")},
			func(string, int) (deploy.AgentRun, error) { return deploy.AgentRun{More: true}, nil },
			nil, []string{}, map[string]int{"a": 1}, nil},
		{"a notice that cannot be sent returns the message", []worker.Message{message("1", "a")},
			func(string, int) (deploy.AgentRun, error) {
				return deploy.AgentRun{Ran: 7, More: true},
					nil
			}, errStore, []string{"1"}, nil, []string{"a"}},
		{"paused: resume notifies", []worker.Message{message("1", "a")},
			func(string, int) (deploy.AgentRun, error) { return deploy.AgentRun{Paused: true}, nil },
			nil, []string{}, map[string]int{"a": 1}, nil},
		{"busy is asked again, and goes on when the lease has expired",
			[]worker.Message{message("1", "a")},
			func(_ string, n int) (deploy.AgentRun, error) {
				return deploy.AgentRun{Busy: n == 1},
					nil
			}, nil, []string{}, map[string]int{"a": 2}, nil},
		{"in progress for a moment is waited for", []worker.Message{message("1", "a")},
			func(_ string, n int) (deploy.AgentRun, error) {
				if n < 3 {
					return deploy.AgentRun{Ran: 1, Next: time.Now().Add(150 * time.Millisecond)}, nil
				}
				return deploy.AgentRun{Ran: 1}, nil
			}, nil, []string{}, map[string]int{"a": 3}, nil},
		{"in progress for long is left to the sweep", []worker.Message{message("1", "a")},
			func(string, int) (deploy.AgentRun, error) {
				return deploy.AgentRun{Ran: 1, Next: time.Now().Add(16 * time.Second)}, nil
			}, nil, []string{}, map[string]int{"a": 1}, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			e, f := &engine{
				do: func(lane string, n int, _ time.Time) (deploy.AgentRun,
					error) {
					return c.do(lane, n)
				}}, &far{err: c.notice}
			again := newServer(e, f).Serve(t.Context(), c.batch, nil, time.Now().Add(time.Minute))
			if diff := cmp.Diff(c.again, again); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.runs, e.runs); c.runs != nil && diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.notified, f.got()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// shelf is a queue as far as hiding its messages goes.
type shelf struct {
	queue.Puller
	mu  sync.Mutex
	hid []int32
}

// ChangeMessageVisibilityBatch implements queue.Puller.
func (s *shelf) ChangeMessageVisibilityBatch(
	_ context.Context, in *sqs.ChangeMessageVisibilityBatchInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range in.Entries {
		s.hid = append(s.hid, e.VisibilityTimeout)
	}
	return &sqs.ChangeMessageVisibilityBatchOutput{}, nil
}

// TestHolderDied pins when messages of an agent are delivered again if the holder of its lease may have
// died: when the lease ends, and only those that were received before, and not for ever.
func TestHolderDied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason   string
		receives int
		left     time.Duration // of the lease
		again    []string
		least    int32 // seconds
	}{
		{"it comes again when the lease ends", 2, 70 * time.Second, []string{"1"}, 69},
		{"the holder lives, and keeps the lease", 6, 70 * time.Second, []string{}, 0},
	} {
		s := newServer(
			&engine{do: func(string, int, time.Time) (deploy.AgentRun, error) {
				return deploy.AgentRun{Busy: true}, nil
			}}, &far{})
		s.Leases = func(context.Context, string) ([]state.Lease, error) {
			return []state.Lease{{Key: "b", Holder: "y", Until: time.Now().Add(time.Hour)},
				{Key: "a", Holder: "x", Until: time.Now().Add(c.left)}}, nil
		}
		m, q := message("1", "a"), &shelf{}
		m.Receives = c.receives
		began := time.Now()
		again := s.Serve(t.Context(), []worker.Message{m}, &queue.Listener{API: q},
			began.Add(2*time.Minute))
		if diff := cmp.Diff(c.again, again); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
		if q.hid[0] != 60 || c.least > 0 &&
			(len(q.hid) != 2 || q.hid[1] < c.least || q.hid[1] > c.least+2) {
			t.Errorf("%s: hidden for %v", c.reason, q.hid)
		}
		if took := time.Since(began); took > 30*time.Second { // not for the end of the lease
			t.Errorf("%s: it waited for %v", c.reason, took)
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason          string
		left, operation time.Duration
		want            time.Duration
	}{
		{"an operation and the commit fit behind it", 2 * time.Minute, time.Minute,
			55 * time.Second},
		{"a time shorter than two operations is worked in half", time.Minute, time.Minute,
			30 * time.Second},
	} {
		var got time.Duration
		began := time.Now()
		e := &engine{do: func(_ string, _ int, until time.Time) (deploy.AgentRun, error) {
			got = until.Sub(began)
			return deploy.AgentRun{}, nil
		}}
		s := newServer(e, &far{})
		s.Operation = c.operation
		s.Serve(t.Context(), []worker.Message{message("1", "a")}, nil, began.Add(c.left))
		if got < c.want-time.Second || got > c.want+time.Second {
			t.Errorf("%s: work until %v, want %v", c.reason, got, c.want)
		}
	}
}

// TestNoticesOfARun pins that the notices of a run for its own agent need no queue, and that notices
// for agents that this process does not serve go to their queues.
func TestNoticesOfARun(t *testing.T) {
	t.Parallel()
	const runs = 1000
	f := &far{}
	e := &engine{}
	s := newServer(e, f)
	e.do = func(_ string, n int, _ time.Time) (deploy.AgentRun, error) {
		next := "a"
		if n == runs {
			next = "b"
		}
		return deploy.AgentRun{Ran: 1},
			s.Notifier.Notify(t.Context(), "prod", []state.Notice{{Agent: next}})
	}
	if again := s.Serve(t.Context(), []worker.Message{message("1", "a")}, nil,
		time.Now().Add(time.Minute)); len(again) != 0 {
		t.Errorf("%v come again", again)
	}
	if diff := cmp.Diff(map[string]int{"a": runs}, e.runs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b"}, f.got()); diff != "" {
		t.Error(diff)
	}
	if err := s.Notifier.Notify(t.Context(), "prod", []state.Notice{{Agent: "a"}}); err != nil ||
		len(f.got()) != 2 {
		t.Errorf("%v: a notice after the end did not reach the queue: %v", err, f.got())
	}
}

// TestTimeIsUp pins that notices that arrived in the process and were not taken in time are sent.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &far{}
		e := &engine{}
		s := newServer(e, f)
		e.do = func(_ string, _ int, until time.Time) (deploy.AgentRun, error) {
			if err := s.Notifier.Notify(t.Context(), "prod",
				[]state.Notice{{Agent: "a"}, {Agent: "b"}}); err != nil {
				return deploy.AgentRun{}, err
			}
			return deploy.AgentRun{Ran: 1}, platform.Clock{}.Sleep(t.Context(), time.Until(until))
		}
		s.Serve(t.Context(), []worker.Message{message("1", "a")}, nil,
			time.Now().Add(400*time.Millisecond))
		if diff := cmp.Diff([]string{"a", "b"}, f.got()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]int{"a": 1}, e.runs); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAwait pins that a worker takes the notices that arrived during its run, without their hints,
// and does not wait for notices.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &engine{}
		s := newServer(e, &far{})
		began := time.Now()
		e.do = func(lane string, _ int, _ time.Time) (deploy.AgentRun, error) {
			if _, notified := s.Notifier.Await(t.Context(), "prod", lane, time.Minute); notified {
				t.Error("notified without a notice")
			}
			if err := s.Notifier.Notify(t.Context(), "prod", []state.Notice{
				{Agent: "a", Done: []resource.ID{"std::Null[b,name=x]"}}}); err != nil {
				return deploy.AgentRun{}, err
			}
			done, notified := s.Notifier.Await(t.Context(), "prod", lane, time.Minute)
			if len(done) != 0 || !notified {
				t.Errorf("notified %v of %v", notified, done)
			}
			return deploy.AgentRun{}, nil
		}
		s.Serve(t.Context(), []worker.Message{message("1", "a")}, nil, began.Add(time.Minute))
		if diff := cmp.Diff(map[string]int{"a": 1}, e.runs); diff != "" {
			t.Error(diff)
		}
		if _, ok := s.Notifier.Await(t.Context(), "prod", "a", time.Minute); ok {
			t.Error("notified of an agent that is not served")
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it waited %v", took)
		}
	})
}

// TestStop pins that a server that is stopped begins nothing, and returns messages it did not
// begin.
func TestStop(t *testing.T) {
	t.Parallel()
	e := &engine{
		do: func(string, int, time.Time) (deploy.AgentRun, error) { return deploy.AgentRun{}, nil }}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	again := newServer(e, &far{}).Serve(ctx, []worker.Message{message("1", "a")}, nil,
		time.Now().Add(time.Minute))
	if diff := cmp.Diff([]string{"1"}, again); diff != "" || len(e.runs) != 0 {
		t.Errorf("%s; runs %v", diff, e.runs)
	}
}
