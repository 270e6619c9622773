// Package worker serves agents for messages of their queues: in the function behind the queues, and
// in a runner on the agent's own machine. docs/design/functions.md describes the handling of each
// message.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"southbound/shared/aws/queue"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Engine serves one agent. *deploy.Engine implements it.
type Engine interface {
	RunAgent(ctx context.Context, env, agent string, until time.Time) (deploy.AgentRun, error)
}

// Server serves agents. Any number of goroutines may use it.
type Server struct {
	// Engine has to use Notifier as its notifier, and Notifier.Await to wait.
	Engine   Engine
	Notifier *Notifier
	Clock    state.Clock
	// Operation is the longest duration of an operation of a handler.
	Operation time.Duration
	Log       *slog.Logger
	// Leases, if not nil, returns the leases of an environment. From them the server reads when the
	// lease of a holder ends that may have died.
	Leases func(ctx context.Context, env string) ([]state.Lease, error)
	// Exists, if not nil, reports whether an agent exists, as Index.Exists does. A run of an agent
	// that does not exist would make records, so its message is refused.
	Exists func(ctx context.Context, env, agent string) (bool, error)
	// Refused, if not nil, is called for each message that was dropped, because it cannot be read or
	// names an agent that does not exist.
	Refused func()
	// Ran, if not nil, is called after each run of an agent, also of a busy agent. It must not block
	// for long.
	Ran func(ctx context.Context, r Run)
}

// Run is one run of an agent.
type Run struct {
	Env, Agent string
	Out        deploy.AgentRun
	Err        error
	Took       time.Duration
}

const (
	// margin is the time that a commit and the response take beyond an operation.
	margin = 5 * time.Second
	// patience is how long to wait for a row in progress before it is left to the sweep. maxWaits
	// limits all such waits of an agent.
	patience     = 15 * time.Second
	maxWaits     = 30 * time.Second
	shortestWait = 100 * time.Millisecond
	// hideBeyond is how long messages stay hidden after the last moment at which this process may
	// work on them.
	hideBeyond = 10 * time.Second
	// maxBusy limits the receives of a message that waits for the end of another process's lease. A
	// live process keeps renewing its lease, so the wait might never end.
	maxBusy = 5
)

// Message is a message of an agent's queue.
type Message struct {
	ID      string
	Receipt string
	Body    string
	// Receives is the number of times that it was received, including this time.
	Receives int
}

// Serve serves the agents that the messages of a batch name, until their work is done or the
// deadline of the invocation is near. It returns the ids of the messages that have to be delivered
// again, in their order and never nil. These are messages of agents that met a fault of
// infrastructure or did not start. Messages of a busy agent are returned if the holder of its lease
// may have died.
//
// If q is not nil, it is the queue of the messages. Serve hides the messages from other receivers
// while it works on them. A returned message stays hidden for a time that grows with each receive.
// If another process holds the lease and may have died, the message stays hidden until the lease
// ends.
func (s *Server) Serve(
	ctx context.Context, batch []Message, q *queue.Listener, deadline time.Time,
) []string {
	work := s.read(ctx, batch)
	again := []string{}
	if len(work) == 0 {
		return again
	}
	stop := s.hide(ctx, q, batch, deadline)
	dispatchers := map[place]*dispatcher{}
	for _, w := range work {
		if dispatchers[w.place] == nil {
			dispatchers[w.place] = s.open(ctx, w.place, s.Until(deadline))
		}
	}
	results := make([]<-chan error, len(work))
	for i, w := range work { // concurrently
		results[i] = dispatchers[w.place].ask(w.done, w.received() > 1)
	}
	back := map[string]time.Duration{} // when each message is delivered again
	for i, w := range work {
		err := <-results[i]
		var other *busy
		switch {
		case err == nil:
		case !errors.As(err, &other):
			s.Log.ErrorContext(ctx, "messages of an agent go back to the queue", "environment",
				w.place.env, "agent", w.place.agent, "messages", len(w.messages), "error", err.Error())
			for _, m := range w.messages {
				back[m.ID] = comeBack(m.Receives)
			}
		case w.received() > 1 && w.received() <= maxBusy:
			for _, m := range w.messages {
				back[m.ID] = other.until.Sub(s.Clock.Now()) + time.Second
			}
		}
	}
	for _, d := range dispatchers {
		d.close()
	}
	s.resend(ctx, s.Until(deadline))
	stop()
	batch = slices.DeleteFunc(slices.Clone(batch), func(m Message) bool { return back[m.ID] == 0 })
	for _, m := range batch { // in the order of the batch
		again = append(again, m.ID)
	}
	s.later(ctx, q, batch, back)
	return again
}

// resend sends the notices again whose sending failed. It tries for some seconds, but not after
// until. Notices that still fail are sent after the next batch, or by the sweep.
func (s *Server) resend(ctx context.Context, until time.Time) {
	for pause := resendFirst; ; pause *= 2 {
		left := s.Notifier.Resend(ctx)
		if left == 0 || pause > resendLast || !s.Clock.Now().Add(pause).Before(until) ||
			s.Clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// agentWork is the work that the messages of one agent request.
type agentWork struct {
	place    place
	done     []resource.ID
	messages []Message
}

// received returns the largest number of receives of a message.
func (w *agentWork) received() int {
	n := 0
	for _, m := range w.messages {
		n = max(n, m.Receives)
	}
	return n
}

// read groups messages by agent, in the order of their first messages. It drops messages that do not
// decode or whose agent does not exist: they are useless, and the sweep notifies again.
func (s *Server) read(ctx context.Context, batch []Message) []*agentWork {
	var decoded []queue.Message
	var of []Message
	for _, m := range batch {
		got, err := queue.Decode(m.Body)
		if err != nil {
			s.refuse(ctx, m.ID, err)
			continue
		}
		for _, one := range got.Each() {
			if one.Job != "" { // functions serve this agent now, and need no notice of a job's part
				continue
			}
			if err := s.missing(ctx, one.Env, one.Agent); err != nil {
				s.refuse(ctx, m.ID, err)
				continue
			}
			decoded, of = append(decoded, one), append(of, m)
		}
	}
	var out []*agentWork
	for _, h := range queue.Merge(decoded) {
		w := &agentWork{place: place{h.Env, h.Agent}, done: h.Done}
		for i, m := range decoded {
			if m.Env == h.Env && m.Agent == h.Agent {
				w.messages = append(w.messages, of[i])
			}
		}
		out = append(out, w)
	}
	return out
}

// missing returns a fault.NotFound if an agent does not exist. If that cannot be determined, missing
// returns nil: the run of the agent meets the same fault, and its message is delivered again.
func (s *Server) missing(ctx context.Context, env, agent string) error {
	if s.Exists == nil {
		return nil
	}
	if exists, err := s.Exists(ctx, env, agent); err == nil && !exists {
		return fault.New(fault.NotFound, "read notice", "environment %.100q has no agent %.100q", env,
			agent)
	}
	return nil
}

// refuse records that a message is dropped.
func (s *Server) refuse(ctx context.Context, id string, err error) {
	s.Log.ErrorContext(ctx, "message refused and dropped", "message", id, "error", err.Error())
	if s.Refused != nil {
		s.Refused()
	}
}

// Until returns when to stop starting work: an operation and a margin before the deadline. If that
// leaves little time to work, it returns the middle of the remaining time.
func (s *Server) Until(deadline time.Time) time.Time {
	left := deadline.Sub(s.Clock.Now())
	budget := s.Operation + margin
	if budget > left*3/4 {
		budget = left / 2
	}
	return deadline.Add(-budget)
}

// run runs an agent. If the agent is busy, and a message asked for it, run tries it a few times. The
// holder of its lease may be about to end without having read this notice. If the message was received before,
// the holder has probably died, and run returns the end of its lease as held. Then run tries again
// only if the lease ends before the last try.
func (s *Server) run(
	ctx context.Context, p place, until time.Time, asked, again bool,
) (out deploy.AgentRun, held time.Time, err error) {
	for pause := busyFirst; ; pause *= 2 {
		began := s.Clock.Now()
		out, err = s.Engine.RunAgent(ctx, p.env, p.agent, until)
		now := s.Clock.Now()
		if s.Ran != nil {
			s.Ran(ctx, Run{Env: p.env, Agent: p.agent, Out: out, Err: err, Took: now.Sub(began)})
		}
		if err != nil || !out.Busy || !asked {
			return out, time.Time{}, err
		}
		if again {
			held = s.held(ctx, p)
		}
		if pause > busyLast || !now.Add(pause).Before(until) || held.After(now.Add(2*busyLast)) ||
			s.Clock.Sleep(ctx, pause) != nil {
			return out, held, nil
		}
	}
}

// held returns when the lease of an agent ends. If no process holds the lease, or the leases are
// unknown, it returns the zero time.
func (s *Server) held(ctx context.Context, p place) time.Time {
	if s.Leases == nil {
		return time.Time{}
	}
	leases, err := s.Leases(ctx, p.env)
	if err != nil {
		s.Log.WarnContext(ctx, "the leases cannot be read", "environment", p.env, "agent",
			p.agent, "error", err.Error())
	}
	now := s.Clock.Now()
	for i := range leases {
		if l := &leases[i]; l.Key == p.agent && l.Holder != "" && l.Until.After(now) {
			return l.Until
		}
	}
	return time.Time{}
}

// hide hides the messages of a batch until stop is called. It hides them for a short time, and
// extends that time regularly, so that they are delivered soon if this process dies. Without hide
// they would stay hidden for the queue's visibility timeout, which is many times as long. So a
// failure of hide is harmless.
func (s *Server) hide(
	ctx context.Context, q *queue.Listener, batch []Message, deadline time.Time,
) (stop func()) {
	if q == nil {
		return func() {}
	}
	all := deliveryOf(batch)
	once := func(ctx context.Context) {
		if err := q.Later(ctx, min(hideFor, deadline.Sub(s.Clock.Now())+hideBeyond),
			all); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "messages are hidden for another time than they should", "error",
				err.Error())
		}
	}
	once(ctx)
	beat, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for s.Clock.Sleep(beat, beatEvery) == nil {
			once(beat)
		}
	})
	return func() {
		end()
		wg.Wait()
	}
}

// later makes each message visible again after its time in back.
func (s *Server) later(
	ctx context.Context, q *queue.Listener, failed []Message, back map[string]time.Duration,
) {
	if q == nil {
		return
	}
	byTime := map[time.Duration][]Message{}
	for _, m := range failed {
		byTime[back[m.ID]] = append(byTime[back[m.ID]], m)
	}
	for d, ms := range byTime {
		if err := q.Later(ctx, d, deliveryOf(ms)); err != nil {
			s.Log.WarnContext(ctx, "messages come again later than they should", "error",
				err.Error())
		}
	}
}

func deliveryOf(ms []Message) queue.Delivery {
	var h queue.Delivery
	for _, m := range ms {
		h.Receipts = append(h.Receipts, m.Receipt)
	}
	return h
}

// comeBack returns after how long a message that was received n times is delivered again. It begins
// with two seconds, since most faults are short and the agent gets no other message until then. It
// is four times as long after each receive, at most ten minutes.
func comeBack(n int) time.Duration {
	d := 2 * time.Second
	for ; n > 1 && d < longestBack; n-- {
		d *= 4
	}
	return min(d, longestBack)
}

const (
	longestBack = 10 * time.Minute
	busyFirst   = time.Second
	busyLast    = 8 * time.Second
	resendFirst = 500 * time.Millisecond
	resendLast  = 4 * time.Second
)
