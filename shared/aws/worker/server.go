// Package worker runs lanes for messages of agents' queues: in the function behind the queues, and
// in a runner on the agent's own machine. docs/design/functions.md says what becomes of each
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
	"southbound/shared/resource"
)

// Lanes runs one lane; *deploy.Engine has it.
type Lanes interface {
	RunLane(ctx context.Context, env, lane string, until time.Time) (deploy.LaneRun, error)
}

// Server serves lanes. It may be used by any number of goroutines.
type Server struct {
	// Engine has Notifier as its notifier, and Notifier.Await to wait with.
	Engine   Lanes
	Notifier *Notifier
	Clock    state.Clock
	// Operation is how long one operation of a handler may take.
	Operation time.Duration
	Log       *slog.Logger
	// Leases, when not nil, returns the leases of an environment: until when the holder of a lane
	// may serve it, should it have died.
	Leases func(ctx context.Context, env string) ([]state.Lease, error)
	// Ran, when not nil, is told of each run of a lane that was not busy. It must not wait long.
	Ran func(ctx context.Context, r Run)
}

// Run is one run of a lane.
type Run struct {
	Env, Lane string
	Out       deploy.LaneRun
	Err       error
	Took      time.Duration
}

const (
	// margin is what committing and answering take beyond an operation.
	margin = 5 * time.Second
	// patience is how long to wait for a row that is in progress, instead of leaving it to the
	// sweep; maxWaits is that of all waits in a lane.
	patience     = 15 * time.Second
	maxWaits     = 30 * time.Second
	shortestWait = 100 * time.Millisecond
	// hideBeyond is how long messages stay hidden after the latest moment at which this process
	// could still work on them.
	hideBeyond = 10 * time.Second
	// maxBusy is how often a message may have been received that waits for the end of another's
	// lease: of one that lives there is no end.
	maxBusy = 5
)

// Message is a message of an agent's queue.
type Message struct {
	ID      string
	Receipt string
	Body    string
	// Receives is how often it was received, this time included.
	Receives int
}

// Serve serves the lanes that messages of a batch name, until they have nothing left to do or
// the deadline of the invocation is near. It returns the ids of the messages that have to come
// again, in their order and never nil: those of lanes that met a fault of infrastructure, and of
// lanes that were not begun.
//
// q, when not nil, is the queue of the messages: they are hidden from others while they are worked
// on, and those that come again for a while that grows with every time, or until the lease has
// ended of another that may have died with them.
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
	for i, w := range work { // side by side
		results[i] = dispatchers[w.place].ask(w.lane, w.done, w.received() > 1)
	}
	back := map[string]time.Duration{} // when messages come again
	for i, w := range work {
		err := <-results[i]
		var other *busy
		switch {
		case err == nil:
		case !errors.As(err, &other):
			s.Log.ErrorContext(ctx, "messages of a lane go back to the queue", "environment",
				w.place.env, "agent", w.place.agent, "lane", w.lane,
				"messages", len(w.messages), "error", err.Error())
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
	stop()
	batch = slices.DeleteFunc(slices.Clone(batch), func(m Message) bool { return back[m.ID] == 0 })
	for _, m := range batch { // in their order
		again = append(again, m.ID)
	}
	s.later(ctx, q, batch, back)
	return again
}

// laneWork is what the messages of one lane ask for.
type laneWork struct {
	place    place
	lane     string
	done     []resource.ID
	messages []Message
}

// received returns how often the message was received that was received most often.
func (w *laneWork) received() int {
	n := 0
	for _, m := range w.messages {
		n = max(n, m.Receives)
	}
	return n
}

// read sorts messages by lane, in the order of the first. What cannot be read is handled by that:
// it can notify nobody, and the sweep notifies again.
func (s *Server) read(ctx context.Context, batch []Message) []*laneWork {
	var decoded []queue.Message
	var of []Message
	for _, m := range batch {
		got, err := queue.Decode(m.Body)
		if err != nil {
			s.Log.ErrorContext(ctx, "a message cannot be read, and is dropped", "message", m.ID,
				"error", err.Error())
			continue
		}
		for _, one := range got.Each() {
			if one.Job != "" { // a function has taken the agent over, and looks at it by itself
				continue
			}
			decoded, of = append(decoded, one), append(of, m)
		}
	}
	var out []*laneWork
	for _, h := range queue.Merge(decoded) {
		w := &laneWork{place: place{h.Env, state.AgentOf(h.Lane)}, lane: h.Lane, done: h.Done}
		for i, m := range decoded {
			if m.Env == h.Env && m.Lane == h.Lane {
				w.messages = append(w.messages, of[i])
			}
		}
		out = append(out, w)
	}
	return out
}

// Until returns when to stop taking work: an operation before the deadline or, when little time
// would be left to work in, half way to it.
func (s *Server) Until(deadline time.Time) time.Time {
	left := deadline.Sub(s.Clock.Now())
	budget := s.Operation + margin
	if budget > left*3/4 {
		budget = left / 2
	}
	return deadline.Add(-budget)
}

// run runs a lane. One that is busy, when somebody asked for it from outside, is tried again a few
// times: its holder may be about to end without having seen this. When somebody asked again, its
// holder has probably died, and held is when its lease ends; then it is not tried again when that
// is later than all tries.
func (s *Server) run(
	ctx context.Context, env, lane string, until time.Time, asked, again bool,
) (out deploy.LaneRun, held time.Time, err error) {
	for pause := busyFirst; ; pause *= 2 {
		began := s.Clock.Now()
		out, err = s.Engine.RunLane(ctx, env, lane, until)
		now := s.Clock.Now()
		if s.Ran != nil {
			s.Ran(ctx, Run{Env: env, Lane: lane, Out: out, Err: err, Took: now.Sub(began)})
		}
		if err != nil || !out.Busy || !asked {
			return out, time.Time{}, err
		}
		if again {
			held = s.held(ctx, env, lane)
		}
		if pause > busyLast || !now.Add(pause).Before(until) || held.After(now.Add(2*busyLast)) ||
			s.Clock.Sleep(ctx, pause) != nil {
			return out, held, nil
		}
	}
}

// held returns when the lease of a lane ends; zero: nobody has it, or that is not known.
func (s *Server) held(ctx context.Context, env, lane string) time.Time {
	if s.Leases == nil {
		return time.Time{}
	}
	leases, err := s.Leases(ctx, env)
	if err != nil {
		s.Log.WarnContext(ctx, "who serves a lane is not known", "environment", env, "lane", lane,
			"error", err.Error())
	}
	now := s.Clock.Now()
	for i := range leases {
		if l := &leases[i]; l.Key == lane && l.Holder != "" && l.Until.After(now) {
			return l.Until
		}
	}
	return time.Time{}
}

// hide hides the messages of a batch while they are worked on, until what is returned is called:
// for a while, and anew before it is over. When this process dies they come again soon. Without it
// they would stay hidden for the time that the queue gives, many times as long; so it does no harm
// when it fails.
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

// later makes messages come again after a while each.
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

// comeBack returns after how long a message comes again that was received n times: 30 seconds, four
// times as long each time, at most ten minutes.
func comeBack(n int) time.Duration {
	d := 30 * time.Second
	for ; n > 1 && d < longestBack; n-- {
		d *= 4
	}
	return min(d, longestBack)
}

const (
	longestBack = 10 * time.Minute
	busyFirst   = time.Second
	busyLast    = 8 * time.Second
)
