package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/resource"
)

// waited is the result of waiting for the environment.
type waited struct {
	Progress api.Progress
	Stuck    bool // the rest waits for a paused agent or a halted environment
	Did      did
	Scope    *scope    // the resources that the command selected; nil: everything
	Gate     *api.Gate // the gate that ended the command between waves; nil: none did
}

// asked is a command's request to a server, so that the command counts only the results of that
// request. If two commands request the same work concurrently, it is done once, and both count it.
type asked struct {
	since   string // id of the last action before it asked
	version int    // count only actions for this version; 0: any
	nothing bool   // the request compares nothing with reality
	idle    bool   // the request has no work
	filter  state.Filter
	// unwell are the resources that were unhealthy at the time of the request, and last is the last
	// version then.
	unwell map[resource.ID]bool
	last   int
}

// waiter waits for the work that a command requested, and shows its progress. With the embedded
// home it also does the work.
type waiter struct {
	*console
	*location
	*session
}

// mark records the point from which changes are counted.
func (w *waiter) mark(ctx context.Context) (asked, error) {
	of := asked{}
	if !w.remote() {
		of.since = w.own.NewID()
	} else {
		last, err := w.home.Actions(ctx, w.env, api.ActionQuery{Limit: 1})
		if err != nil || len(last) == 0 {
			return of, err
		}
		of.since = last[0].ID
	}
	p, err := w.home.Progress(ctx, w.env)
	if err != nil || !ill(p.Counts) {
		return of, err
	}
	of.last, of.unwell = p.Last, map[resource.ID]bool{}
	err = w.home.Resources(ctx, w.env, nil, func(r *api.Resource) error {
		if slices.Contains(api.Unhealthy(), r.Status) {
			of.unwell[r.ID] = true
		}
		return nil
	})
	return of, err
}

// recovered counts the resources that were unhealthy at the time of the request, and are now
// deployed without a new intent.
func (w *waiter) recovered(ctx context.Context, of asked) (int, error) {
	n := 0
	if len(of.unwell) == 0 {
		return 0, nil
	}
	err := w.home.Resources(ctx, w.env, []string{"status=" + string(state.StatusDeployed)},
		func(r *api.Resource) error {
			if of.unwell[r.ID] && r.Version <= of.last && of.filter.Match(&state.Row{ID: r.ID}) {
				n++
			}
			return nil
		})
	return n, err
}

// matching returns the terms of a filter that can be applied to an action afterwards: those that a
// repair does not change.
func matching(terms []string) state.Filter {
	terms = slices.DeleteFunc(slices.Clone(terms),
		func(t string) bool {
			return strings.HasPrefix(t, "status=") || strings.HasPrefix(t, "set=")
		})
	f, _ := state.ParseFilter(terms) // cannot fail: the terms were parsed before
	return f
}

// wait waits until the environment has no remaining work, and shows progress. With the embedded
// home, this process does the work.
func (w *waiter) wait(ctx context.Context, of asked) (waited, error) {
	pr := w.progress()
	stop := context.AfterFunc(ctx, func() { pr.stopping(context.Cause(ctx)) })
	defer pr.end()
	defer stop()
	if w.remote() {
		return w.poll(ctx, of, pr)
	}
	d, err := w.runner().Drain(ctx, w.env,
		func(p deploy.Progress) { pr.report(api.ProgressOf(w.env, p)) })
	if err != nil {
		return waited{}, err
	}
	what, err := w.did(ctx, of)
	what.fixed = d.Fixed // the worker excludes corrections after a failure
	return waited{Progress: api.ProgressOf(w.env, d.Progress), Stuck: d.Stuck, Did: what}, err
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

// nextPoll returns how long to wait before the next poll of a server. waited is the time since the
// request.
func nextPoll(waited time.Duration) time.Duration {
	return min(max(waited/pollEvery, min(waited/2, quickPoll), firstPoll), slowPoll)
}

// poll reads the progress of a server until no work is left. It polls often at first, but not
// immediately after the request, which cannot be done by then.
func (w *waiter) poll(ctx context.Context, of asked, pr *progress) (waited, error) {
	clock := local.Clock{}
	began := clock.Now()
	left := -1
	var away, still time.Duration // the time since the last answer, and since the last progress
	for wait := !of.idle; ; wait = true {
		if wait { // if the sleep is interrupted, the next request fails
			pause := nextPoll(clock.Now().Sub(began))
			_ = clock.Sleep(ctx, pause)
			away, still = away+pause, still+pause
		}
		p, err := w.home.Progress(ctx, w.env)
		if ctx.Err() != nil {
			return waited{}, fault.Wrap(fault.Unknown, "wait", context.Cause(ctx))
		}
		if err != nil && api.Passes(err) && away < outage {
			continue
		}
		if err != nil {
			return waited{}, err
		}
		away = 0
		pr.report(p)
		if p.Scheduled != left || p.RunningCount > 0 {
			still, left = 0, p.Scheduled
		}
		if p.Done() {
			what, err := w.did(ctx, of)
			return waited{Progress: p, Did: what}, err
		}
		if held(p, still) {
			what, err := w.did(ctx, of)
			return waited{Progress: p, Stuck: true, Did: what}, err
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
		is := paused[state.AgentOf(lane)]
		some, all = some || is, all && is
	}
	return all || some && still >= stuckAfter
}
