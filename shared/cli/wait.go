package cli

import (
	"context"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/plan"
)

// waited says how waiting ended.
type waited struct {
	Progress api.Progress
	Stuck    bool // what is left waits for an agent that is paused, or for a halted environment
	Fixed    int  // what had drifted and was set right
}

// mark returns what to count from when a server is waited for.
func (a *app) mark(ctx context.Context) (string, error) {
	if !a.remote() {
		return "", nil
	}
	last, err := a.home.Actions(ctx, a.env, api.ActionQuery{Limit: 1})
	if err != nil || len(last) == 0 {
		return "", err
	}
	return last[0].ID, nil
}

// wait waits until nothing is left to do in the environment, and shows how far it is. In the embedded home this process does it.
func (a *app) wait(ctx context.Context, since string) (waited, error) {
	pr := a.progress()
	stop := context.AfterFunc(ctx, pr.stopping)
	defer pr.end()
	defer stop()
	if a.remote() {
		return a.poll(ctx, since, pr)
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
func (a *app) poll(ctx context.Context, since string, pr *progress) (waited, error) {
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
			fixed, err := a.fixed(ctx, since)
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

// fixed counts what was set right since.
func (a *app) fixed(ctx context.Context, since string) (int, error) {
	actions, err := a.home.Actions(ctx, a.env, api.ActionQuery{Action: deploy.ActionRepair, Outcome: deploy.StatusDeployed, After: since})
	n := 0
	for i := range actions {
		if actions[i].Change != plan.NoChange {
			n++
		}
	}
	return n, err
}

// reach opens the home in the data directory, or the way to the server.
func (a *app) reach() error {
	if a.remote() {
		return a.connect()
	}
	return a.openAt(a.data)
}
