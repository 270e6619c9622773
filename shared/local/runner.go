package local

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/resource"
)

// Runner serves the lanes of environments in this process.
type Runner struct {
	Engine   *deploy.Engine
	Notifier *Notifier
	// Ran counts the resources that this process has run; deploy.Config.Ran adds to it.
	Ran *atomic.Int64
	// Abandon, when not nil, aborts running handlers because the process is about to end: see
	// platform.Calls.
	Abandon func()
	// Grace is how long running resources may take to finish after the context of Drain or Serve is
	// cancelled; then they are aborted. 0 means no limit.
	Grace time.Duration
	// Late, when not nil, is called with the resources that have not finished in time, before they
	// are aborted.
	Late func([]resource.ID)
}

// Drained describes how Drain ended.
type Drained struct {
	Progress deploy.Progress
	// Stuck: all remaining resources wait, because their agents are paused or the environment is
	// halted.
	Stuck bool
	Fixed int // how many resources had drifted and were corrected by this process
}

const (
	// pollOthers is the interval at which a process checks whether another process has finished the
	// work that it waits for.
	pollOthers = 25 * time.Millisecond
	// sweepEvery is the interval at which the embedded home looks for timers and lost notices.
	sweepEvery = time.Second
	maxLanes   = 256 // served concurrently
	never      = 100 * 365 * 24 * time.Hour
)

// lanes serves the lanes of one environment, each in a goroutine of its own.
type lanes struct {
	r     *Runner
	env   string
	ended chan struct{} // holds a value if a lane has ended since the last receive

	mu    sync.Mutex
	busy  map[string]bool            // served now
	last  map[string]deploy.AgentRun // outcome of the last run of each lane
	err   error                      // the first error of a lane
	fixed int                        // resources that had drifted and were corrected
}

func (r *Runner) lanesOf(env string) *lanes {
	return &lanes{r: r, env: env, busy: map[string]bool{}, last: map[string]deploy.AgentRun{},
		ended: make(chan struct{}, 1)}
}

// start serves the lanes that were notified and are not served yet. It returns the number of lanes
// served now, and a channel that is closed at the next notice without a waiting worker.
func (l *lanes) start(ctx context.Context) (int, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := maxLanes - len(l.busy)
	notified, next := l.r.Notifier.Notified(l.env, maxLanes, l.busy)
	if room < len(notified) {
		l.r.Notifier.Spare(l.env, len(notified)-room)
		notified = notified[:room]
	}
	for _, lane := range notified {
		if ctx.Err() != nil {
			break
		}
		l.busy[lane] = true
		l.r.Notifier.Answer(l.env, lane)
		go l.run(ctx, lane)
	}
	return len(l.busy), next
}

func (l *lanes) run(ctx context.Context, lane string) {
	out, err := l.r.Engine.RunAgent(ctx, l.env, lane, l.r.Engine.Clock.Now().Add(never))
	l.mu.Lock()
	delete(l.busy, lane)
	l.last[lane] = out
	l.fixed += out.Fixed
	if err != nil && l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	select {
	case l.ended <- struct{}{}:
	default:
	}
}

// failed returns the first error of a lane.
func (l *lanes) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Drain serves env until no scheduled resource can run. It calls report, if it is not nil, a few
// times a second. When ctx ends, no further resource is started, and Drain returns once the running
// resources have finished or were aborted. If ctx ended by a timeout, they are aborted after
// lastWords.
func (r *Runner) Drain(
	ctx context.Context, env string, report func(deploy.Progress),
) (Drained, error) {
	l := r.lanesOf(env)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	defer func() { l.drain(ctx) }()
	first, err := r.Engine.Progress(ctx, env)
	if err != nil {
		return Drained{}, err
	}
	total := int64(first.Scheduled) + r.Ran.Load()
	if err := r.notifyReady(ctx, env); err != nil {
		return Drained{}, err
	}
	for {
		serving, notified := l.start(ctx)
		if err := l.failed(); err != nil {
			return Drained{}, err
		}
		if ctx.Err() != nil {
			return Drained{}, fault.Wrap(fault.Unknown, "wait", context.Cause(ctx))
		}
		if serving == 0 {
			out, over, pause, err := r.quiet(ctx, l, report)
			if over || err != nil {
				return out, err
			}
			if err := r.Engine.Clock.Sleep(ctx, pause); err != nil {
				continue
			}
			if err := r.notifyReady(ctx, env); err != nil {
				return out, err
			}
			continue
		}
		select {
		case <-notified:
		case <-l.ended:
		case <-ctx.Done():
		case <-ticker.C:
			if report != nil {
				if p, err := r.Engine.Pulse(ctx, env); err == nil {
					p.Scheduled = int(max(total-r.Ran.Load(), 0))
					report(p)
				}
			}
		}
	}
}

// notifyReady notifies the lanes in which a resource may start.
func (r *Runner) notifyReady(ctx context.Context, env string) error {
	lanes, err := r.Engine.AgentsWithWork(ctx, env)
	if err != nil {
		return err
	}
	return r.Notifier.Notify(ctx, env, state.NoticesOf(lanes))
}

// lastWords is how long running resources may take to finish after the timeout, and then to react
// to being aborted.
const lastWords = time.Second

// drain waits until no lane is served. It aborts running resources after Grace, or after lastWords
// if ctx ended by a timeout.
func (l *lanes) drain(ctx context.Context) {
	var over <-chan struct{}
	switch timeout := fault.Is(context.Cause(ctx), fault.Timeout); {
	case l.r.Abandon == nil:
	case timeout:
		over, _ = patience.After(lastWords)
	case ctx.Err() != nil && l.r.Grace > 0:
		over, _ = patience.After(l.r.Grace)
	}
	for abandoned := false; ; {
		l.mu.Lock()
		n := len(l.busy)
		l.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-l.ended:
		case <-over:
			if abandoned {
				return
			}
			l.late(ctx)
			l.r.Abandon()
			abandoned = true
			over, _ = patience.After(lastWords)
		}
	}
}

// late passes the running resources to Late.
func (l *lanes) late(ctx context.Context) {
	if l.r.Late == nil {
		return
	}
	ctx, cancel := patience.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if p, err := l.r.Engine.Progress(ctx, l.env); err == nil {
		l.r.Late(p.Running)
	}
}

// quiet decides how Drain proceeds while no lane is served here: whether waiting has ended, or how
// long to wait before the next look.
func (r *Runner) quiet(
	ctx context.Context, l *lanes, report func(deploy.Progress),
) (Drained, bool, time.Duration, error) {
	p, err := r.Engine.Progress(ctx, l.env)
	if err != nil {
		return Drained{}, false, 0, err
	}
	if report != nil {
		report(p)
	}
	out := Drained{Progress: p, Fixed: l.fixed}
	if p.Done() {
		return out, true, 0, nil
	}
	if p.Outbox > 0 || p.Env.Releasing != 0 {
		_, err := r.Engine.Sweep(ctx, l.env)
		return out, false, time.Millisecond, err
	}
	lanes, err := r.Engine.AgentsWithWork(ctx, l.env)
	if err != nil {
		return out, false, 0, err
	}
	pause, stuck := pollOthers, len(p.Lanes) > 0
	now := r.Engine.Clock.Now()
	for _, lane := range lanes {
		last, ran := l.last[lane]
		switch {
		case !ran || p.Held[lane] || last.Busy || last.More:
			stuck = false
		case !last.Next.IsZero():
			stuck = false
			pause = max(min(last.Next.Sub(now), sweepEvery), time.Millisecond)
		case last.Paused || last.Waits:
		default:
			stuck = false
		}
	}
	out.Stuck = stuck && (p.Env.Halted || len(p.Paused) > 0)
	return out, out.Stuck, pause, nil
}

// Serve serves the lanes of env until ctx ends, and sweeps periodically for timers and retries.
// Faults of infrastructure are passed to failed and do not end Serve.
func (r *Runner) Serve(ctx context.Context, env string, failed func(error)) {
	l := r.lanesOf(env)
	defer func() { l.drain(ctx) }()
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	sweep := func() {
		if _, err := r.Engine.Sweep(ctx, env); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
	sweep()
	for ctx.Err() == nil {
		_, notified := l.start(ctx)
		l.mu.Lock()
		err := l.err
		l.err = nil
		l.mu.Unlock()
		if err != nil {
			failed(err)
		}
		select {
		case <-notified:
		case <-l.ended:
		case <-ticker.C:
			sweep()
		case <-ctx.Done():
		}
	}
}
