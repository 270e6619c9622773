package worker

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Runner serves one agent from any machine. It receives the messages of the agent's queue in place
// of a function, with the same leases and fences.
type Runner struct {
	Server     *Server
	Env, Agent string
	// Queue returns the agent's queue. Until a queue has been made for the agent, it returns a
	// fault.NotFound.
	Queue func(ctx context.Context) (*queue.Listener, error)
	// Work returns all agents that have work.
	Work func(ctx context.Context) ([]string, error)
	// Part, if not nil, reads a requested part of a job, as api.Service.Work does.
	Part func(ctx context.Context, part string) error
	// Offered, if not nil, returns the parts of jobs that wait for a runner of the agent. The
	// runner calls it while the agent has no queue, since a notice of such a part would require a
	// queue.
	Offered func(ctx context.Context) ([]string, error)
	// Poll is how long one request waits for messages. If it is 0, a request waits 20 seconds,
	// which is the cheapest, and two in the minutes after a start or work. Stopping may take as
	// long.
	Poll time.Duration
}

const (
	longPoll = 20 * time.Second // the maximum of SQS
	// A runner that has just started or got work is often stopped soon, and should not wait for the
	// end of a long request.
	shortPoll = 2 * time.Second
	lively    = 2 * time.Minute
	// hideFor is how long a message is hidden from other receivers. The runner extends it while the
	// agent runs.
	hideFor   = 60 * time.Second
	beatEvery = 20 * time.Second
	// firstPause and longestPause limit the back-off between tries to reach the queue.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// A missing queue is looked up often at first. Later lookups cost some ten cents a month.
	soon       = 10 * time.Minute
	pauseSoon  = time.Second
	pauseLater = 10 * time.Second
	forever    = 100 * 365 * 24 * time.Hour
)

// Serve receives messages and serves the agent until ctx ends. Then it starts no further work,
// and finishes and records the running work. It returns the messages of unfinished work to the
// queue, and returns nil. Faults are logged, and do not end Serve.
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
			if kind := fault.KindOf(err); kind != logged { // once, not at each try
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
		r.Server.Notifier.Resend(ctx)
		if len(deliveries) > 0 {
			worked = r.Server.Clock.Now()
		}
		for _, h := range deliveries {
			wg.Go(func() { r.answer(ctx, d, q, h) })
		}
	}
	return nil
}

// receive waits for messages. Stopping does not interrupt it. SQS may already have given a message
// to an interrupted request, which would hide the message from all receivers for a while.
func (r *Runner) receive(
	ctx context.Context, poll time.Duration,
) (*queue.Listener, []queue.Delivery, error) {
	ctx = context.WithoutCancel(ctx)
	q, err := r.Queue(ctx)
	if err != nil {
		return nil, nil, err
	}
	q.Hide = hideFor
	q.Refused = func(id string, err error) { r.Server.refuse(ctx, id, err) }
	deliveries, err := q.Receive(ctx, poll)
	return q, deliveries, err
}

// maxPause returns the longest pause before the queue is looked up again. A missing queue will
// often be made soon, because an operator who starts a runner exports resources for it next.
func (r *Runner) maxPause(began time.Time, err error) time.Duration {
	switch {
	case !fault.Is(err, fault.NotFound):
		return longestPause
	case r.Server.Clock.Now().Sub(began) < soon:
		return pauseSoon
	}
	return pauseLater
}

// trouble logs why no messages are received.
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

// begin starts a run if the agent has work. Messages may have been lost while no process received
// them, and the next sweep may be a minute away.
func (r *Runner) begin(ctx context.Context, d *dispatcher) {
	agents, err := r.Work(ctx)
	if err != nil {
		r.trouble(ctx, err)
		return
	}
	if slices.Contains(agents, r.Agent) {
		d.accept(nil)
	}
}

// answer serves the agent for a delivery. During the run it keeps the messages hidden from other
// receivers.
func (r *Runner) answer(ctx context.Context, d *dispatcher, q *queue.Listener, h queue.Delivery) {
	if h.Env != r.Env || h.Agent != r.Agent {
		r.Server.Log.WarnContext(ctx, "a message of another agent is dropped", "environment", h.Env,
			"lane", h.Agent)
		r.warn(ctx, q.Done(context.WithoutCancel(ctx), h))
		return
	}
	if h.Job != "" {
		r.part(ctx, q, h)
		return
	}
	r.passOn(ctx, h)
	if err := r.Server.missing(ctx, h.Env, h.Agent); err != nil {
		r.Server.refuse(ctx, r.Agent, err)
		r.warn(ctx, q.Done(context.WithoutCancel(ctx), h))
		return
	}
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		for r.Server.Clock.Sleep(beat, beatEvery) == nil {
			// If this fails or comes too late, another process may receive the message. That
			// process finds that the lease is taken.
			r.warn(beat, q.Later(beat, hideFor, h))
		}
	})
	err := <-d.ask(h.Done, false)
	stop()
	wg.Wait()
	late := context.WithoutCancel(ctx)
	switch {
	case ctx.Err() != nil: // there may be unfinished work
		r.warn(late, q.Later(late, 0, h))
	case err != nil:
		r.Server.Log.ErrorContext(ctx, "messages come again", "environment", h.Env, "agent",
			r.Agent, "error", err.Error())
		r.warn(late, q.Later(late, comeBack(h.Receives), h))
	default:
		r.warn(late, q.Done(late, h))
	}
}

// passOn notifies the other agents that a message is also for. The message was meant for a function,
// which would serve all of them. If passOn fails, or this process dies before it deletes the
// message, the next receiver of the message or the sweep notifies these agents again.
func (r *Runner) passOn(ctx context.Context, h queue.Delivery) {
	if len(h.With) == 0 {
		return
	}
	err := r.Server.Notifier.Notify(context.WithoutCancel(ctx), r.Env, state.NoticesOf(h.With))
	if err != nil {
		r.Server.Log.WarnContext(ctx, "other agents are left to the sweep", "environment",
			r.Env, "agents", len(h.With), "error", err.Error())
	}
}

// part reads a part of a job. It deletes the message before it reads the part, because the process
// that waits for the job notifies again.
func (r *Runner) part(ctx context.Context, q *queue.Listener, h queue.Delivery) {
	r.warn(ctx, q.Done(context.WithoutCancel(ctx), h))
	if r.Part != nil {
		r.read(ctx, h.Job)
	}
}

// withoutQueue reads the offered parts of jobs for an agent that has no queue yet. For example, the
// part of a plan comes before the first export. A part that is listed twice is read once, because
// the second reader finds it taken.
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

// warn logs that a message could not be deleted or hidden. It is delivered again then, which is
// harmless.
func (r *Runner) warn(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.Server.Log.WarnContext(ctx, "a message could not be answered", "environment", r.Env,
			"agent", r.Agent, "error", err.Error())
	}
}
