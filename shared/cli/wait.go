package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/plan"
	"southbound/shared/resource"
)

// waited says how waiting ended.
type waited struct {
	Progress api.Progress
	Stuck    bool // what is left waits for an agent that is paused, or for a halted environment
	Fixed    int  // what had drifted and was set right
}

// asked is what a command that waits for a server has asked for, to count no more than what came of that. When two ask for the same at once, it is done once
// and both are told.
type asked struct {
	since   string // the last action before
	nothing bool   // no comparison with reality
	version int    // 0: any
	filter  deploy.Filter
}

// mark begins to count.
func (a *app) mark(ctx context.Context) (asked, error) {
	if !a.remote() {
		return asked{}, nil
	}
	last, err := a.home.Actions(ctx, a.env, api.ActionQuery{Limit: 1})
	if err != nil || len(last) == 0 {
		return asked{}, err
	}
	return asked{since: last[0].ID}, nil
}

// matching returns a filter that can be asked of an action: with those terms that a resource has not changed by being repaired.
func matching(terms []string) deploy.Filter {
	terms = slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return strings.HasPrefix(t, "status=") || strings.HasPrefix(t, "set=") })
	f, _ := deploy.ParseFilter(terms) // it was read before
	return f
}

// wait waits until nothing is left to do in the environment, and shows how far it is. In the embedded home this process does it.
func (a *app) wait(ctx context.Context, of asked) (waited, error) {
	pr := a.progress()
	stop := context.AfterFunc(ctx, pr.stopping)
	defer pr.end()
	defer stop()
	if a.remote() {
		return a.poll(ctx, of, pr)
	}
	d, err := a.runner().Drain(ctx, a.env, func(p deploy.Progress) { pr.report(api.ProgressOf(a.env, p)) })
	return waited{api.ProgressOf(a.env, d.Progress), d.Stuck, d.Fixed}, err
}

const (
	firstPoll = 50 * time.Millisecond
	slowPoll  = 2 * time.Second
	// stuckAfter is how long nothing must have moved before what is left is taken to wait for a paused agent, where that does not
	// follow from the agents alone.
	stuckAfter = 5 * time.Second
)

// poll asks a server how far it is: often at first, and when something moves.
func (a *app) poll(ctx context.Context, of asked, pr *progress) (waited, error) {
	clock := local.Clock{}
	pause, moved, left := firstPoll, clock.Now(), -1
	for {
		p, err := a.home.Progress(ctx, a.env)
		if ctx.Err() != nil {
			return waited{}, fault.Wrap(fault.Unknown, "wait", context.Cause(ctx))
		}
		if err != nil {
			return waited{}, err
		}
		pr.report(p)
		if p.Scheduled != left || p.RunningCount > 0 {
			moved, left = clock.Now(), p.Scheduled
			pause = min(pause, slowPoll/4)
		}
		if p.Done() {
			fixed, err := a.fixed(ctx, of)
			return waited{Progress: p, Fixed: fixed}, err
		}
		if held(p, clock.Now().Sub(moved)) {
			return waited{Progress: p, Stuck: true}, nil
		}
		if clock.Sleep(ctx, pause) == nil {
			pause = min(pause*3/2, slowPoll)
		}
	}
}

// held reports whether what is left waits for somebody to resume an agent or the environment. still is for how long nothing has moved.
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
		is := paused[lane[:max(strings.LastIndexByte(lane, '/'), 0)]]
		some, all = some || is, all && is
	}
	return all || some && still >= stuckAfter
}

// fixed counts the resources that were set right of what was asked for.
func (a *app) fixed(ctx context.Context, of asked) (int, error) {
	if of.nothing {
		return 0, nil
	}
	actions, err := a.home.Actions(ctx, a.env, api.ActionQuery{Action: deploy.ActionRepair, Outcome: deploy.StatusDeployed, After: of.since, Version: of.version})
	fixed := map[resource.ID]bool{}
	for i := range actions {
		if x := &actions[i]; x.Change != plan.NoChange && of.filter.Match(&deploy.Row{ID: x.Resource}) {
			fixed[x.Resource] = true
		}
	}
	return len(fixed), err
}

// reach opens the home in the data directory, or the way to the server.
func (a *app) reach() error {
	if a.remote() {
		return a.connect()
	}
	return a.openAt(a.data)
}
