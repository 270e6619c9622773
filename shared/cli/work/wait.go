// Package work waits for scheduled work, and reports its progress and its result.
package work

import (
	"context"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/resource"
)

// Result is the result of waiting for the environment.
type Result struct {
	Progress api.Progress
	Stuck    bool // the rest waits for a paused agent or a halted environment
	Did      did
	Scope    *scope    // the resources that the command selected; nil: everything
	Gate     *api.Gate // the gate that ended the command between waves; nil: none did
}

// Request is a command's request to a server, so that the command counts only the results of that
// request. If two commands request the same work concurrently, it is done once, and both count it.
type Request struct {
	Since   string // id of the last action before it asked
	Version int    // count only actions for this version; 0: any
	Nothing bool   // the request compares nothing with reality
	Idle    bool   // the request has no work
	Filter  state.Filter
	// unwell are the resources that were unhealthy at the time of the request, and last is the last
	// version then.
	unwell map[resource.ID]bool
	last   int
}

// Waiter waits for the work that a command requested, and shows its progress. With the embedded
// home it also does the work.
type Waiter struct {
	*output.Console
	*home.Location
	*home.Session
}

// Mark records the point from which changes are counted.
func (w *Waiter) Mark(ctx context.Context) (Request, error) {
	of := Request{}
	if !w.Remote() {
		of.Since = w.Own.NewID()
	} else {
		last, err := w.Home.Actions(ctx, w.Env, api.ActionQuery{Limit: 1})
		if err != nil || len(last) == 0 {
			return of, err
		}
		of.Since = last[0].ID
	}
	p, err := w.Home.Progress(ctx, w.Env)
	if err != nil || !Ill(p.Counts) {
		return of, err
	}
	of.last, of.unwell = p.Last, map[resource.ID]bool{}
	err = w.Home.Resources(ctx, w.Env, nil, func(r *api.Resource) error {
		if slices.Contains(api.Unhealthy(), r.Status) {
			of.unwell[r.ID] = true
		}
		return nil
	})
	return of, err
}

// Recovered counts the resources that were unhealthy at the time of the request, and are now
// deployed without a new intent.
func (w *Waiter) Recovered(ctx context.Context, of Request) (int, error) {
	n := 0
	if len(of.unwell) == 0 {
		return 0, nil
	}
	err := w.Home.Resources(ctx, w.Env, []string{"status=" + string(state.StatusDeployed)},
		func(r *api.Resource) error {
			if of.unwell[r.ID] && r.Version <= of.last && of.Filter.Match(&state.Row{ID: r.ID}) {
				n++
			}
			return nil
		})
	return n, err
}

// Matching returns the terms of a filter that can be applied to an action afterwards: those that a
// repair does not change.
func Matching(terms []string) state.Filter {
	terms = slices.DeleteFunc(state.WithoutState(terms),
		func(t string) bool { return strings.HasPrefix(t, "set=") })
	f, _ := state.ParseFilter(terms) // cannot fail: the terms were parsed before
	return f
}

// Wait waits until the environment has no remaining work, and shows progress. With the embedded
// home, this process does the work.
func (w *Waiter) Wait(ctx context.Context, of Request) (Result, error) {
	pr := w.Progress()
	stop := context.AfterFunc(ctx, func() { pr.stopping(context.Cause(ctx)) })
	defer pr.End()
	defer stop()
	if w.Remote() {
		return w.poll(ctx, of, pr)
	}
	d, err := w.drain(ctx, of, pr)
	if err != nil {
		return Result{}, err
	}
	what, err := w.did(ctx, of)
	what.Fixed = d.Fixed // the worker excludes corrections after a failure
	return Result{Progress: api.ProgressOf(w.Env, d.Progress), Stuck: d.Stuck, Did: what}, err
}

// drain does the work in this process. It ends early if facts do not settle.
func (w *Waiter) drain(ctx context.Context, of Request, pr *progress) (local.Drained, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var never error
	settling := w.settling(of, time.Now())
	d, err := w.Runner().Drain(ctx, w.Env, func(p deploy.Progress) {
		pr.report(api.ProgressOf(w.Env, p))
		if never != nil {
			return
		}
		if never = settling.look(ctx, time.Now()); never != nil {
			end(never)
		}
	})
	if err != nil && never != nil {
		return d, never
	}
	return d, err // the work may have ended all the same
}

const (
	firstPoll = 100 * time.Millisecond
	slowPoll  = 10 * time.Second
	// pollEvery is the part of the elapsed waiting time after which a server is polled again. The
	// end of long work is noticed a little later, and the number of requests grows with the
	// logarithm of the time.
	pollEvery = 8
	// quickPoll is the longest pause that is half of the elapsed waiting time. The end of quick
	// work is noticed soon, and work of a second or two does not cause constant requests.
	quickPoll = 250 * time.Millisecond
	// outage is how long a server may be unable to answer. If too many functions run concurrently,
	// that of the API is throttled, too, and the requested work continues during that time.
	outage = time.Minute
	// stuckAfter is how long progress must be missing until the remaining work is assumed to wait
	// for a paused agent. It applies if that does not follow from the agents alone.
	stuckAfter = 5 * time.Second
)

// NextPoll returns how long to wait before the next poll of a server. waited is the time since the
// request.
func NextPoll(waited time.Duration) time.Duration {
	return min(max(waited/pollEvery, min(waited/2, quickPoll), firstPoll), slowPoll)
}

// poll reads the progress of a server until no work is left. It polls often at first, but not
// immediately after the request, which cannot be done by then.
func (w *Waiter) poll(ctx context.Context, of Request, pr *progress) (Result, error) {
	clock := local.Clock{}
	began := clock.Now()
	settling := w.settling(of, began)
	left := -1
	var away, still time.Duration // the time since the last answer, and since the last progress
	for wait := !of.Idle; ; wait = true {
		if wait { // if the sleep is interrupted, the next request fails
			pause := NextPoll(clock.Now().Sub(began))
			_ = clock.Sleep(ctx, pause)
			away, still = away+pause, still+pause
		}
		p, err := w.Home.Progress(ctx, w.Env)
		if ctx.Err() != nil {
			return Result{}, fault.Wrap(fault.Unknown, "wait", context.Cause(ctx))
		}
		if err != nil && api.Passes(err) && away < outage {
			continue
		}
		if err != nil {
			return Result{}, err
		}
		away = 0
		pr.report(p)
		if p.Scheduled != left || p.RunningCount > 0 {
			still, left = 0, p.Scheduled
		}
		if p.Done() {
			what, err := w.did(ctx, of)
			return Result{Progress: p, Did: what}, err
		}
		if held(p, still) {
			what, err := w.did(ctx, of)
			return Result{Progress: p, Stuck: true, Did: what}, err
		}
		if err := settling.look(ctx, clock.Now()); err != nil {
			return Result{}, err
		}
	}
}

// held reports whether the remaining work waits for a person to resume an agent or the environment.
// still is how long there was no progress.
func held(p api.Progress, still time.Duration) bool {
	if p.Outbox > 0 || p.Releasing != 0 || len(p.Held) > 0 {
		return false
	}
	if p.Halted {
		return true
	}
	paused := map[string]bool{}
	for _, name := range p.Paused {
		paused[name] = true
	}
	some, all := false, len(p.Lanes) > 0
	for _, lane := range p.Lanes {
		is := paused[lane]
		some, all = some || is, all && is
	}
	return all || some && still >= stuckAfter
}
