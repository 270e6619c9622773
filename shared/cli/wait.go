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

// waited says how waiting for the environment ended.
type waited struct {
	Progress api.Progress
	Stuck    bool // what is left waits because its agent is paused or the environment is halted
	Did      did
	Scope    *scope    // what the command was about; nil: everything
	Gate     *api.Gate // what has ended it between waves; nil: no gate has
}

// asked is what a command that waits for a server has asked for, so that it counts only what came
// of that. If two ask for the same at once, it is done once, and both count it.
type asked struct {
	since   string // id of the last action before it asked
	version int    // only what was done for a version; 0: any
	nothing bool   // it asked for no comparison with reality
	idle    bool   // it asked for nothing at all
	filter  state.Filter
	// unwell are the resources that something was wrong with, and last the last version, when it
	// asked.
	unwell map[resource.ID]bool
	last   int
}

// waiter waits for what a command has asked for, and shows how far it is. With the embedded home it
// does the work.
type waiter struct {
	*console
	*location
	*session
}

// mark notes from where on to count.
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

// recovered counts what something was wrong with when a command asked, and is deployed now without
// a new intent.
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

// matching returns the part of a filter that can be applied to an action afterwards: the terms that
// a repair does not change.
func matching(terms []string) state.Filter {
	terms = slices.DeleteFunc(slices.Clone(terms),
		func(t string) bool {
			return strings.HasPrefix(t, "status=") || strings.HasPrefix(t, "set=")
		})
	f, _ := state.ParseFilter(terms) // cannot fail: the terms were parsed before
	return f
}

// wait waits until nothing is left to do in the environment, and shows progress. With the embedded
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
	what.fixed = d.Fixed // the worker knows what had failed before, and was not drift
	return waited{Progress: api.ProgressOf(w.env, d.Progress), Stuck: d.Stuck, Did: what}, err
}

const (
	firstPoll = 100 * time.Millisecond
	slowPoll  = 10 * time.Second
	// pollEvery is the part of the time waited so far after which a server is asked again: what
	// takes long is seen a little later, and the number of questions grows with the logarithm of
	// the time.
	pollEvery = 8
	// quickPoll is how long a pause may be that is half of the time waited so far: what is quick is
	// seen soon, and what takes a second or two is not asked for all the time.
	quickPoll = 250 * time.Millisecond
	// outage is how long a server may be unable to answer: where too many functions run at once
	// that of the API has to wait, too, and what was asked for goes on meanwhile.
	outage = time.Minute
	// stuckAfter is how long nothing must have moved until it is assumed that what is left waits
	// for a paused agent, where that does not follow from the agents alone.
	stuckAfter = 5 * time.Second
)

// nextPoll returns how long to wait before a server is asked again, of which something was asked a
// while ago.
func nextPoll(waited time.Duration) time.Duration {
	return min(max(waited/pollEvery, min(waited/2, quickPoll), firstPoll), slowPoll)
}

// poll asks a server for its progress until nothing is left to do: often at first, but not at once
// when something was asked for, which cannot be done by then.
func (w *waiter) poll(ctx context.Context, of asked, pr *progress) (waited, error) {
	clock := local.Clock{}
	began := clock.Now()
	left := -1
	var away, still time.Duration // how long it waited since the last answer, and the last move
	for wait := !of.idle; ; wait = true {
		if wait { // when it is cut short, asking fails
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

// held reports whether what is left waits for a person to resume an agent or the environment. still
// is how long nothing has moved.
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
