package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy/state"
)

// TestFunctionsHappen pins that what the model of queues and functions can do is done in few seeds:
// a model in which nothing ever happens checks nothing.
func TestFunctionsHappen(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	for what, text := range map[string]string{
		"a function gets a batch":        "is invoked with",
		"of several messages":            "is invoked with 2",
		"a process is killed":            "the timeout of its function",
		"a success is delivered again":   "its messages come again",
		"a repeated send is swallowed":   "is swallowed as a duplicate",
		"a message is given up some day": "is given up after",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= 3000; seed++ {
				p := Draw(seed)
				if p.Functions == nil {
					continue
				}
				seen := false
				if _, err := Run(p, Mutant{}, func(format string, args ...any) {
					seen = seen || strings.Contains(fmt.Sprintf(format, args...), text)
				}); err != nil {
					t.Fatal(err)
				}
				if seen {
					t.Logf("in seed %d", seed)
					return
				}
			}
			t.Errorf("%q does not happen", text)
		})
	}
}

// TestFIFO pins what the queue of an agent does, by what the documentation of FIFO queues says.
func TestFIFO(t *testing.T) {
	t.Parallel()
	p := Draw(1)
	p.Functions = &Functions{Timeout: time.Minute, Margin: time.Second, Visibility: 3 * time.Minute,
		Receives: 2, Batch: 10}
	newQueue := func(t *testing.T) *fifo {
		t.Helper()
		u, err := newTools()
		if err != nil {
			t.Fatal(err)
		}
		r := newRun(u, p, Mutant{}, nil)
		t.Cleanup(func() {
			r.close()
			u.close()
		})
		return queueOf(r, "a")
	}
	put := func(q *fifo, lanes ...string) {
		for _, l := range lanes {
			q.r.sent++
			q.put(state.Notice{Agent: l}, q.r.sent)
		}
	}
	lanes := func(ms []*message) string {
		var out []string
		for _, m := range ms {
			out = append(out, m.notice.Agent)
		}
		return strings.Join(out, " ")
	}
	t.Run("Order", func(t *testing.T) {
		t.Parallel()
		q := newQueue(t)
		put(q, "a", "a/1", "a")
		if got := lanes(q.take()); got != "a a/1 a" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("GroupIsBlocked", func(t *testing.T) {
		t.Parallel()
		q := newQueue(t)
		put(q, "a")
		q.take()
		put(q, "a", "a/1")
		if got := lanes(q.take()); got != "a/1" {
			t.Errorf("while a message of a/0 is under way: got %q, want a/1", got)
		}
		q.r.sched.now += 3 * time.Minute
		if got := lanes(q.take()); got != "a a a/1" {
			t.Errorf("after its visibility: got %q", got)
		}
	})
	t.Run("Deduplication", func(t *testing.T) {
		t.Parallel()
		q := newQueue(t)
		q.put(state.Notice{Agent: "a"}, 7)
		q.drop(q.take()[0])
		q.r.sched.now += dedup - 1
		q.put(state.Notice{Agent: "a"}, 7)
		if len(q.messages) != 0 {
			t.Error("an id that was used less than five minutes ago is taken again, though its " +
				"message is gone")
		}
		q.r.sched.now++
		q.put(state.Notice{Agent: "a"}, 7)
		if len(q.messages) != 1 {
			t.Error("an id that was used five minutes ago is not taken")
		}
	})
	t.Run("GivenUp", func(t *testing.T) {
		t.Parallel()
		q := newQueue(t)
		put(q, "a")
		for range 2 {
			if len(q.take()) != 1 {
				t.Fatal("not delivered")
			}
			q.r.sched.now += 3 * time.Minute
		}
		if len(q.take()) != 0 || len(q.messages) != 0 {
			t.Error("delivered a third time")
		}
	})
}
