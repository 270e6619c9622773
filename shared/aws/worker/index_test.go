package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/worker"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// directory is the environment prod with the agent a.
type directory struct {
	reads int
	err   error
}

func (d *directory) Agents(
	_ context.Context, env string, _ ...string,
) (map[string]state.Agent, error) {
	d.reads++
	if d.err != nil || env != "prod" {
		return nil, d.err
	}
	return map[string]state.Agent{"a": {Agent: resource.Agent{Name: "a", Lanes: 2}}}, nil
}

func TestIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, env, agent string
		err                error
		want               bool
		kind               fault.Kind
		reads              int // of three calls
	}{
		{"an agent is read once", "prod", "a", nil, true, fault.Unknown, 1},
		{"the agent is gone, and still has work", "prod", "b", nil, true, fault.Unknown, 3},
		{"no such agent", "prod", "../x", nil, false, fault.Unknown, 3},
		{"no such environment", "other", "a", nil, false, fault.Unknown, 3},
		{"the environment has no records", "other", "a",
			fault.New(fault.NotFound, "read", "there are none"), false, fault.Unknown, 3},
		{"the store is away", "prod", "a", errStore, false, fault.Unavailable, 3},
	} {
		d := &directory{err: c.err}
		x := &worker.Index{State: d, Work: func(_ context.Context, env string) ([]string, error) {
			if env != "prod" {
				return nil, nil
			}
			return []string{"b"}, nil
		}}
		for range 3 {
			got, err := x.Exists(t.Context(), c.env, c.agent)
			if got != c.want || fault.KindOf(err) != c.kind {
				t.Errorf("%s: %v, %v", c.reason, got, err)
			}
		}
		if d.reads != c.reads {
			t.Errorf("%s: %d reads, want %d", c.reason, d.reads, c.reads)
		}
	}
}

// TestRefused pins that nothing runs for messages that are not readable or name agents that do not
// exist, that they are not delivered again, and that each is counted and logged.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := &engine{do: func(string, int, time.Time) (deploy.AgentRun, error) {
		return deploy.AgentRun{}, nil
	}}
	s := newServer(e, &far{})
	var log bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	refused := 0
	s.Refused = func() { refused++ }
	s.Exists = func(_ context.Context, env, agent string) (bool, error) {
		if agent == "c" {
			return false, errStore // the run meets the fault, and returns the message
		}
		return env == "prod" && agent == "a", nil
	}
	batch := []worker.Message{message("1", "a"), message("2", "a/9"), message("3", "c"),
		{ID: "4", Body: `{"v":1,"env":"f1/../default","agent":"../x"}`}, {ID: "5", Body: "x"}}
	again := s.Serve(t.Context(), batch, nil, time.Now().Add(time.Minute))
	if diff := cmp.Diff(map[string]int{"a": 1, "c": 1}, e.runs); diff != "" || len(again) > 0 ||
		refused != 3 || strings.Count(log.String(), "refused") != 3 {
		t.Errorf("%d refused, %v come again: %s\n%s", refused, again, diff, log.String())
	}
}

// TestNoticesAreSentAgain pins that notices whose sending failed are sent again at the end of the
// batch, once they can be, and are kept for the next batch otherwise.
func TestNoticesAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		fails  int // sends
		want   int // sends in the first batch, and in all
		all    int
	}{
		{"a notice that was sent is not sent again", 0, 1, 1},
		{"a short fault", 2, 3, 3},
		{"a long fault ends with the next batch", 6, 6, 7},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &flaky{fails: c.fails}
				s := newServer(nil, &far{})
				s.Notifier = worker.NewNotifier(f)
				s.Engine = &engine{do: func(lane string, _ int, _ time.Time) (deploy.AgentRun, error) {
					if lane == "a" {
						_ = s.Notifier.Notify(t.Context(), "prod", []state.Notice{{Agent: "b"}})
					}
					return deploy.AgentRun{}, nil
				}}
				serve := func(lane string) {
					s.Serve(t.Context(), []worker.Message{message("1", lane)}, nil,
						time.Now().Add(time.Minute))
				}
				serve("a")
				if f.sends != c.want {
					t.Errorf("sent %d times, want %d", f.sends, c.want)
				}
				serve("z")
				if f.sends != c.all || f.delivered != 1 {
					t.Errorf("sent %d times, want %d; delivered %d times", f.sends, c.all, f.delivered)
				}
			})
		})
	}
}

// flaky is a notifier that fails at first.
type flaky struct{ fails, sends, delivered int }

// Notify implements state.Notifier.
func (f *flaky) Notify(context.Context, string, []state.Notice) error {
	f.sends++
	if f.sends <= f.fails {
		return errStore
	}
	f.delivered++
	return nil
}
