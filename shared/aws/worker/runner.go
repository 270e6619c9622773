package worker

import (
	"cmp"
	"context"
	"sync"
	"time"

	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Runner serves one agent from any machine: it listens on the agent's queue as a function would be
// called by it, with the same claims and fences.
type Runner struct {
	Server     *Server
	Env, Agent string
	// Queue returns the agent's queue; NotFound as long as nothing has been made for the agent.
	Queue func(ctx context.Context) (*queue.Listener, error)
	// Work returns the lanes that have work, of all agents.
	Work func(ctx context.Context) ([]string, error)
	// Part, when not nil, reads a part of a job that was asked for, as api.Service.Work does.
	Part func(ctx context.Context, part string) error
	// Offered, when not nil, returns the parts of jobs that wait for a runner of the agent. They are
	// asked for while the agent has no queue, in which a notice of them could be.
	Offered func(ctx context.Context) ([]string, error)
	// Poll is how long one request waits for messages; 0: 20 seconds, which is the cheapest, and
	// two in the minutes after a start or work. Stopping may take as long.
	Poll time.Duration
}

const (
	longPoll = 20 * time.Second // what SQS allows
	// Who has just begun or got work may well stop next, and is not to wait for the end of a long
	// request.
	shortPoll = 2 * time.Second
	lively    = 2 * time.Minute
	// hideFor is how long messages are hidden from others; it is prolonged while their lane runs.
	hideFor   = 60 * time.Second
	beatEvery = 20 * time.Second
	// firstPause and longestPause are between tries to reach the queue.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// A queue that is missing is looked for often at first, and then for some ten cents a month.
	soon       = 10 * time.Minute
	pauseSoon  = time.Second
	pauseLater = 10 * time.Second
	// afterFault is when a message comes again whose lane met a fault.
	afterFault = 30 * time.Second
	forever    = 100 * 365 * 24 * time.Hour
)

// Serve listens and serves until ctx ends. Then no more is begun, what runs is finished and
// recorded, messages of which work is left are given back, and Serve returns nil. Faults are
// logged, and do not end it.
func (r *Runner) Serve(ctx context.Context) error {
	d := r.Server.open(ctx, place{r.Env, r.Agent}, r.Server.Clock.Now().Add(forever))
	d.halting, d.patience, d.waits = false, forever, forever
	var wg sync.WaitGroup
	defer d.close()
	defer wg.Wait()
	r.begin(ctx, d)
	pause, began, logged := firstPause, r.Server.Clock.Now(), fault.Kind("")
	worked := began
	for ctx.Err() == nil {
		poll := longPoll
		if r.Server.Clock.Now().Sub(worked) < lively {
			poll = shortPoll
		}
		q, deliveries, err := r.receive(ctx, cmp.Or(r.Poll, poll))
		switch {
		case ctx.Err() != nil && err != nil:
			return nil
		case err != nil:
			if kind := fault.KindOf(err); kind != logged { // once, not each time
				r.trouble(ctx, err)
				logged = kind
			}
			if fault.Is(err, fault.NotFound) {
				r.withoutQueue(ctx, &wg)
			}
			_ = r.Server.Clock.Sleep(ctx, pause)
			pause = min(2*pause, r.maxPause(began, err))
			continue
		}
		pause, logged = firstPause, ""
		if len(deliveries) > 0 {
			worked = r.Server.Clock.Now()
		}
		for _, h := range deliveries {
			wg.Go(func() { r.answer(ctx, d, q, h) })
		}
	}
	return nil
}

// receive waits for messages. Stopping does not cut it short: a message that is handed to a request
// which has gone would be hidden from everybody for a while.
func (r *Runner) receive(
	ctx context.Context, poll time.Duration,
) (*queue.Listener, []queue.Delivery, error) {
	ctx = context.WithoutCancel(ctx)
	q, err := r.Queue(ctx)
	if err != nil {
		return nil, nil, err
	}
	q.Hide = hideFor
	deliveries, err := q.Receive(ctx, poll)
	return q, deliveries, err
}

// maxPause returns how long to wait at most before the queue is asked for again. One that is not
// there is mostly about to be made: whoever starts a runner exports something for it next.
func (r *Runner) maxPause(began time.Time, err error) time.Duration {
	switch {
	case !fault.Is(err, fault.NotFound):
		return longestPause
	case r.Server.Clock.Now().Sub(began) < soon:
		return pauseSoon
	}
	return pauseLater
}

// trouble logs why nothing is received.
func (r *Runner) trouble(ctx context.Context, err error) {
	if fault.Is(err, fault.NotFound) {
		r.Server.Log.InfoContext(ctx,
			"the agent has no queue yet: nothing was ever to be done on it", "environment", r.Env,
			"agent", r.Agent)
		return
	}
	r.Server.Log.WarnContext(ctx, "the queue cannot be read", "environment", r.Env, "agent",
		r.Agent, "error", err.Error())
}

// begin looks at once at what is scheduled: messages may have been lost while nobody listened, and
// the sweep comes in a minute only.
func (r *Runner) begin(ctx context.Context, d *dispatcher) {
	lanes, err := r.Work(ctx)
	if err != nil {
		r.trouble(ctx, err)
		return
	}
	for _, lane := range lanes {
		if state.AgentOf(lane) == r.Agent {
			d.accept(lane, nil)
		}
	}
}

// answer serves the lane that messages name, and keeps them from others meanwhile.
func (r *Runner) answer(ctx context.Context, d *dispatcher, q *queue.Listener, h queue.Delivery) {
	if h.Env != r.Env || state.AgentOf(h.Lane) != r.Agent {
		r.Server.Log.WarnContext(ctx, "a message of another agent is dropped", "environment", h.Env,
			"lane", h.Lane)
		r.warn(ctx, q.Done(context.WithoutCancel(ctx), h))
		return
	}
	if h.Job != "" {
		r.part(ctx, q, h)
		return
	}
	r.passOn(ctx, h)
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		for r.Server.Clock.Sleep(beat, beatEvery) == nil {
			// When that fails, or comes too late, another may receive the message: it finds the
			// lease taken.
			r.warn(beat, q.Later(beat, hideFor, h))
		}
	})
	err := <-d.ask(h.Lane, h.Done, false)
	stop()
	wg.Wait()
	late := context.WithoutCancel(ctx)
	switch {
	case ctx.Err() != nil: // there may be work left
		r.warn(late, q.Later(late, 0, h))
	case err != nil:
		r.Server.Log.ErrorContext(ctx, "messages of a lane come again", "environment", h.Env,
			"lane", h.Lane, "error", err.Error())
		r.warn(late, q.Later(late, afterFault, h))
	default:
		r.warn(late, q.Done(late, h))
	}
}

// passOn notifies the lanes of other agents that a message is for, too: it was meant for a
// function, which would serve all of them. If that fails, or this process dies before the message
// is deleted, they are notified again, by whoever gets it next or by the sweep.
func (r *Runner) passOn(ctx context.Context, h queue.Delivery) {
	if len(h.With) == 0 {
		return
	}
	err := r.Server.Notifier.Notify(context.WithoutCancel(ctx), r.Env, state.NoticesOf(h.With))
	if err != nil {
		r.Server.Log.WarnContext(ctx, "lanes of other agents are left to the sweep", "environment",
			r.Env, "lanes", len(h.With), "error", err.Error())
	}
}

// part reads a part of a job. Its message is over as soon as it was received: whoever waits for the
// job notifies again.
func (r *Runner) part(ctx context.Context, q *queue.Listener, h queue.Delivery) {
	r.warn(ctx, q.Done(context.WithoutCancel(ctx), h))
	if r.Part != nil {
		r.read(ctx, h.Job)
	}
}

// withoutQueue reads the parts of jobs that were offered for an agent which has no queue yet: that
// of a plan comes before the first export. A part that is listed twice is read once, as the second
// reader finds it taken.
func (r *Runner) withoutQueue(ctx context.Context, reading *sync.WaitGroup) {
	if r.Offered == nil {
		return
	}
	parts, err := r.Offered(ctx)
	r.warn(ctx, err)
	for _, part := range parts {
		reading.Go(func() { r.read(ctx, part) })
	}
}

// read reads one part of a job.
func (r *Runner) read(ctx context.Context, part string) {
	if err := r.Part(ctx, part); err != nil {
		r.Server.Log.WarnContext(ctx, "a part of a comparison was not read", "environment", r.Env,
			"agent", r.Agent, "job", part, "error", err.Error())
	}
}

// warn notes that a message could not be answered: it comes again then, which does no harm.
func (r *Runner) warn(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.Server.Log.WarnContext(ctx, "a message could not be answered", "environment", r.Env,
			"agent", r.Agent, "error", err.Error())
	}
}
