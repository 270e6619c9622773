package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"southbound/shared/api/comparisons"
	"southbound/shared/api/results"
	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// errLostJob: another process has changed the job, so that this worker has lost it.
var errLostJob = errors.New("another process has taken over the job, or the job has ended")

// WorkHere makes this process work on jobs until ctx ends. It must be called before the server
// starts. wait returns when all slices have ended.
func (s *Service) WorkHere(ctx context.Context) (wait func()) {
	var wg sync.WaitGroup
	s.Start = func(_ context.Context, env, id string) error {
		if ctx.Err() != nil {
			return fault.New(
				fault.Unavailable,
				"compare with reality",
				"the server is about to stop",
			)
		}
		wg.Go(func() { _ = s.Work(ctx, env, id, time.Time{}) }) // a poll starts it again
		return nil
	}
	return wg.Wait
}

// Work works on an offered job, or on an offered part, until a time; zero: for a slice. It returns an
// error if the findings could not be recorded. A poll starts the job again then.
func (s *Service) Work(ctx context.Context, env, id string, until time.Time) error {
	now := s.Env.Engine.Clock.Now()
	if until.IsZero() {
		until = now.Add(defaultWork)
	}
	h, err := s.load(ctx, env, id)
	if err != nil || h.rec.hasEnded() || h.rec.Worker != "" || !h.rec.Alive.After(now) {
		return err // another process has it, it is over, or its offer has expired
	}
	h.rec.Worker, h.rec.Alive = s.Env.Engine.NewID(), now.Add(aliveFor)
	if h.rec.Part != nil {
		h.rec.Part.Since = time.Time{}
	}
	if err := h.write(ctx); err != nil {
		return err
	}
	w := &worker{storedJob: h}
	own, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := w.beat(own, stop)
	d, done, err := w.slice(own, until)
	lost := errors.Is(context.Cause(own), errLostJob)
	stop(nil)
	<-ended
	if lost {
		return nil
	}
	return w.recordSlice(context.WithoutCancel(ctx), d, done, err, ctx.Err() != nil)
}

// worker is a job with its worker.
type worker struct {
	*storedJob
	mu    sync.Mutex // guards the job while it beats
	named bool       // whether the record has named any agent yet
	// others are the agents whose parts have not ended yet.
	pendingAgents []string
}

// beat sends heartbeats until ctx ends. If the job is lost, it calls stop.
func (w *worker) beat(ctx context.Context, stop context.CancelCauseFunc) (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for w.s.Env.Engine.Clock.Sleep(ctx, beatEvery) == nil {
			if fault.Is(w.alive(ctx), fault.Conflict) {
				stop(errLostJob)
				return
			}
		}
	}()
	return done
}

func (w *worker) alive(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rec.Alive = w.s.Env.Engine.Clock.Now().Add(aliveFor)
	return w.write(context.WithoutCancel(ctx))
}

// left records the agents that are not compared yet: the first time immediately, then with the next
// heartbeat.
func (w *worker) left(ctx context.Context, agents []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rec.Left = agents[:min(len(agents), maxNamedLeft)]
	if !w.named {
		w.named = true
		_ = w.write(ctx) // otherwise the next heartbeat writes it
	}
}

// slice works on the job until a time. done is its result, if all is compared.
func (w *worker) slice(
	ctx context.Context,
	until time.Time,
) (d deploy.DryRun, done *results.ReadDone, err error) {
	if w.rec.Part != nil {
		return w.partSlice(ctx, until)
	}
	var job comparisons.ReadJob
	if err := w.s.readJSON(ctx, w.rec.Asked, &job); err != nil {
		return d, nil, err
	}
	if job.Discover != nil {
		return w.discover(ctx, job)
	}
	from := deploy.Reading{Until: until, State: w.rec.State,
		Progress: func(agents []string) { w.left(ctx, agents) }}
	if w.s.ByRunner != nil {
		from.Others = w.delegate
	}
	for _, hash := range w.rec.Found {
		part, err := results.ReadPart[results.PlannedChange](ctx, w.s.Comparisons.Results, hash)
		if err != nil {
			return d, nil, err
		}
		for _, item := range part.Items {
			from.Known = append(from.Known, deploy.PlannedChange(item))
		}
	}
	if w.rec.Version > 0 {
		job.Version = w.rec.Version
	}
	if d, err = w.s.Comparisons.RunJob(ctx, job, from); err != nil || len(d.Unread) > 0 {
		return d, nil, err
	}
	all, err := w.s.Comparisons.Results.Keep(ctx, d)
	return d, &all, err
}

// recordSlice records the outcome of a slice. stopped: the process ends, and the job has not failed.
func (w *worker) recordSlice(
	ctx context.Context,
	d deploy.DryRun,
	done *results.ReadDone,
	err error,
	stopped bool,
) error {
	switch {
	case w.rec.Part != nil && (err == nil && done != nil || err != nil && !stopped):
		return w.endPart(ctx, d, done, err)
	case err == nil && done != nil:
		return w.end(ctx, jobEnd{Done: done}, nil)
	case err != nil && !stopped:
		return w.end(ctx, jobEnd{}, err)
	}
	r := &w.rec
	if r.State != "" && d.State != "" && r.State != d.State {
		r.Found, r.Count = nil, 0
		if r.Moved++; r.Moved > maxMoved {
			return w.end(ctx, jobEnd{}, fault.New(fault.Conflict, "compare with reality",
				"the state changes continuously: the plan changed %d times", maxMoved).
				WithHint("wait until scheduled resources are done, or plan fewer with a FILTER"))
		}
	}
	if err := w.keepFound(ctx, d); err != nil {
		return err
	}
	r.Waits = len(w.pendingAgents) > 0 && !slices.ContainsFunc(d.Unread, func(a string) bool {
		return !slices.Contains(w.pendingAgents, a)
	})
	if len(d.Found) > 0 || stopped || r.Waits {
		r.Idle = 0
	} else if r.Idle++; r.Idle > maxIdle {
		return w.end(ctx, jobEnd{}, fault.New(fault.Timeout, "compare with reality",
			"nothing could be compared for a long time: the remaining agents are busy, or "+
				"their resources cannot be read within %s", defaultWork).
			WithHint("show running resources with `southbound status`"))
	}
	r.Worker, r.Starts, r.Alive = "", 0, time.Time{}
	r.Left = d.Unread[:min(len(d.Unread), maxNamedLeft)]
	return w.write(ctx)
}

// keepFound stores the findings of a slice as files, and adds their hashes to the record, which the
// caller writes. A crash in between leaves unused files, and the next worker compares the same
// resources again.
func (w *worker) keepFound(ctx context.Context, d deploy.DryRun) error {
	if d.Version > 0 {
		w.rec.Version = d.Version
	}
	if d.State != "" {
		w.rec.State = d.State
	}
	found := make([]results.PlannedChange, len(d.Found))
	for i := range d.Found {
		found[i] = results.PlannedChange(d.Found[i])
	}
	w.rec.Count += len(found)
	if w.rec.Part != nil {
		return w.keepPages(ctx, found)
	}
	_, hashes, err := results.Divide(ctx, w.s.Env.Engine.Files, found, 0)
	w.rec.Found = slices.Concat(w.rec.Found, hashes)
	return err
}
