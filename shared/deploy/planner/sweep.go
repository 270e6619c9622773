package planner

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/adhocore/gronx"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/worker"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// SweepResult is the result of a sweep.
type SweepResult struct {
	Notified int       // agents with work
	Due      int       // resources whose retry was due
	Next     time.Time // when a timer is due next; zero: none
}

// Sweep does work that no other process is left to do. It finishes an interrupted release, does the
// follow-up of commits, schedules retries and timers that are due, and notifies agents with
// scheduled resources. It may run at any time, in any number of processes. An idle environment
// costs a few small reads.
//
// The notices come last, so that they cover everything that the earlier steps have scheduled. Each
// step starts from stored data, so the next sweep completes steps that a crash or an error
// interrupted.
func (pl *Planner) Sweep(ctx context.Context, env string) (SweepResult, error) {
	var out SweepResult
	stored, err := pl.State.Env(ctx, env)
	if err != nil {
		return out, fault.Wrap(fault.Unknown, "read environment", err)
	}
	if stored.Releasing != 0 {
		if err := pl.plan(ctx, env, func(*planning) error { return nil }); err != nil {
			return out, err
		}
	}
	if err := pl.followUpStored(ctx, env); err != nil {
		return out, err
	}
	if !stored.Halted {
		if err := (&sweeper{Planner: pl, out: &out}).timers(ctx, stored); err != nil {
			return out, err
		}
	}
	agents, err := worker.Startable(ctx, pl.State, pl.Graphs, env)
	if err != nil {
		return out, err
	}
	out.Notified = len(agents)
	pl.Client.Notify(ctx, env, state.NoticesOf(agents))
	return out, nil
}

// sweeper schedules retries and timers that are due.
type sweeper struct {
	*Planner
	out *SweepResult
}

// timers schedules retries, the deploy timer and the repair timer.
func (pl *sweeper) timers(ctx context.Context, state state.Env) error {
	now := pl.Clock.Now()
	ids, next, err := pl.State.Due(ctx, state.Name, now, pl.SweepSize)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read timers", err)
	}
	if len(ids) > 0 {
		if err := pl.retry(ctx, state.Name, ids); err != nil {
			return err
		}
		pl.out.Due = len(ids)
	}
	pl.out.Next = next
	if state.Released == 0 {
		return nil
	}
	deployAt, err := nextTimer(state.Settings.DeployTimer, defaultDeployTimer, state.LastDeploy)
	if err != nil {
		return err
	}
	repairAt, err := nextTimer(
		state.Settings.RepairTimer,
		defaultRepairTimer,
		latest(state.Wave.At, state.LastRepair),
	)
	if err != nil {
		return err
	}
	if due(deployAt, now) {
		if err := pl.deployUnfinished(ctx, state.Name, now); err != nil {
			return err
		}
		deployAt, _ = nextTimer(state.Settings.DeployTimer, defaultDeployTimer, now)
	}
	if due(repairAt, now) {
		if err := pl.repairTimer(ctx, state.Name, now); err != nil {
			return err
		}
		repairAt, _ = nextTimer(state.Settings.RepairTimer, defaultRepairTimer, now)
	}
	for _, at := range []time.Time{deployAt, repairAt} {
		if !at.IsZero() && (pl.out.Next.IsZero() || at.Before(pl.out.Next)) {
			pl.out.Next = at
		}
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// Defaults of the timers, in the form of the settings.
const (
	defaultDeployTimer = "600"
	defaultRepairTimer = "86400"
)

// CheckTimer returns an Invalid error unless a timer setting can be parsed: whole seconds, "0" for
// off, or five fields of cron in UTC.
func CheckTimer(setting string) error {
	_, err := nextTimer(setting, "0", time.Unix(0, 0).UTC())
	return err
}

// nextTimer returns when a timer that was last due at last is due next; zero: never. otherwise is
// the setting used in place of "".
func nextTimer(setting, otherwise string, last time.Time) (time.Time, error) {
	if setting == "" {
		setting = otherwise
	}
	if seconds, err := strconv.ParseInt(setting, 10, 32); err == nil {
		switch {
		case seconds < 0:
			return time.Time{}, fault.New(fault.Invalid, "read timer", "%q is negative", setting)
		case seconds == 0:
			return time.Time{}, nil
		}
		return last.Add(time.Duration(seconds) * time.Second), nil
	}
	at, err := gronx.NextTickAfter(setting, last.UTC(), false)
	if err != nil {
		return time.Time{}, fault.New(fault.Invalid, "read timer",
			"%q is neither whole seconds nor cron: %v", setting, err).
			WithHint(`write seconds such as 600, or five fields such as "30 2 * * *"`)
	}
	return at, nil
}

// retry schedules rows whose NextAt has come.
func (pl *sweeper) retry(ctx context.Context, env string, ids []resource.ID) error {
	return pl.schedule(ctx, env, func(p *planning) error {
		rows, err := p.load(ctx, ids)
		now := pl.Clock.Now()
		for _, id := range ids {
			if row := rows[id]; row != nil && err == nil {
				p.apply(row, step.Due{Now: now})
			}
		}
		return err
	})
}

// deployUnfinished runs the deploy timer if a resource is unfinished. Otherwise it writes nothing,
// not even the time of the timer, so that an idle environment costs one read of the counters.
func (pl *sweeper) deployUnfinished(ctx context.Context, env string, now time.Time) error {
	counts, err := pl.State.Counts(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "count resources", err)
	}
	idle := []state.Status{state.StatusDeployed, state.StatusOrphaned, state.StatusUndefined,
		state.StatusBlocked} // as wanted, or not to be run
	for status, n := range counts {
		if n > 0 && !slices.Contains(idle, status) {
			return pl.deployTimer(ctx, env, now)
		}
	}
	return nil
}

// deployTimer schedules unfinished rows that are not scheduled yet.
func (pl *sweeper) deployTimer(ctx context.Context, env string, now time.Time) error {
	return pl.schedule(ctx, env, func(p *planning) error {
		p.env.LastDeploy = now
		return p.scheduleUnfinished(ctx, state.PriorityDeployTimer, false,
			func(r *state.Row) bool { return r.Ticket() == 0 })
	})
}

// repairTimer starts a wave.
func (pl *sweeper) repairTimer(ctx context.Context, env string, now time.Time) error {
	return pl.plan(ctx, env, func(p *planning) error {
		p.startWave(state.PriorityRepairTimer, true)
		p.env.LastRepair = now
		return p.commitAll(ctx)
	})
}
