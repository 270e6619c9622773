// Package sweep is what runs each minute for all environments: it finishes what was interrupted,
// runs timers, repeats notices that were lost, and sends to rest what has nothing left to do.
// docs/design/functions.md says in which steps.
package sweep

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/emf"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Engine is what is needed of the engine; *deploy.Engine has it.
type Engine interface {
	Sweep(ctx context.Context, env string) (deploy.SweepResult, error)
	Collect(ctx context.Context, env string, grace time.Duration) (deploy.Collected, error)
}

// State is what is needed of the state; *dynamo.State has it.
type State interface {
	QuietUntil(ctx context.Context) (map[string]time.Time, error)
	MarkQuiet(ctx context.Context, env string, until time.Time) (bool, error)
	Outbox(ctx context.Context, env string, limit int) ([]state.Outbox, error)
	DropOrphans(ctx context.Context, before time.Time) (int, error)
	Watched
}

// Queues looks after the queues of agents; *provision.Provisioner has it.
type Queues interface {
	// Check mends the queues of agents that have work and that nobody serves.
	Check(ctx context.Context, env string) (visited int, err error)
	// Idle disables what polls the queues of agents that have been idle for long.
	Idle(ctx context.Context) (slept int, err error)
	// Refresh brings the attributes of queues up to date after the stack was updated.
	Refresh(ctx context.Context) (changed int, err error)
}

// PollSwitch has what polls the log queue run while it is needed; *provision.PollSwitch does so.
type PollSwitch interface {
	SetNeeded(ctx context.Context, needed bool) error
}

// Log looks after the log of actions; *logs.Log has it.
type Log interface {
	// CatchUp logs what lost messages have left behind.
	CatchUp(ctx context.Context, env string) error
}

// Orders looks after the orders of services; *compiles.Finder has it.
type Orders interface {
	// Sweep sends a notice when something is due of the orders in an environment, and returns how
	// long that may rest at most; 0: as long as it may without orders.
	Sweep(ctx context.Context, env string) (rest time.Duration, err error)
}

// Sweeper sweeps. Fields without which it can do are said to be so.
type Sweeper struct {
	Engine  Engine
	State   State
	Queues  Queues     // nil: nobody looks after queues
	Catch   Log        // nil: nobody looks after the log
	Orders  Orders     // nil: nobody takes orders
	Polling PollSwitch // nil: the log queue is always polled
	Clock   state.Clock
	Log     *slog.Logger
	Metrics *emf.Set

	seen  seen
	dates Dates
}

const (
	sideBySide = 4
	// maxQuiet is how long an environment without timers and orders rests.
	maxQuiet = 24 * time.Hour
	// spare is what is left of an invocation when no further environment is begun.
	spare = 10 * time.Second
	// orphanAge is how old an object is that may be removed when nothing names it.
	orphanAge = 48 * time.Hour
)

// Run sweeps all environments; at is the minute for which it was called. The error is that of one
// environment, after all were swept.
func (s *Sweeper) Run(ctx context.Context, at time.Time) error {
	quietUntil, err := s.State.QuietUntil(ctx)
	if err != nil {
		return fault.Wrap(fault.Unknown, "list quiet environments", err)
	}
	envs := slices.Sorted(maps.Keys(quietUntil))
	now := s.Clock.Now()
	awake := slices.DeleteFunc(slices.Clone(envs), func(env string) bool {
		rests := now.Before(quietUntil[env])
		if rests {
			s.seen.nothing(env)
		}
		return rests
	})
	var busy atomic.Bool
	errs := s.each(ctx, awake, func(ctx context.Context, env string) error {
		return s.sweep(ctx, env, quietUntil[env], &busy)
	})
	if s.Polling != nil {
		errs = append(errs, s.Polling.SetNeeded(ctx, busy.Load()))
	}
	return errors.Join(append(errs, s.chores(ctx, envs, at)...)...)
}

// each calls f for environments, some side by side, and returns its errors. When the time is nearly
// up the rest is left to the next minute.
func (s *Sweeper) each(
	ctx context.Context, envs []string, f func(ctx context.Context, env string) error,
) []error {
	var mu sync.Mutex
	var errs []error
	var late sync.Once
	var sweeps errgroup.Group // one that fails keeps no other from being swept
	sweeps.SetLimit(sideBySide)
	for _, env := range envs {
		sweeps.Go(func() error {
			// By now, not when the sweep began: it may have waited for others.
			if deadline, ok := ctx.Deadline(); ok && !s.Clock.Now().Add(spare).Before(deadline) {
				late.Do(func() {
					s.Log.WarnContext(ctx, "the time is up; the next minute goes on",
						"environment", env)
				})
				return nil
			}
			if err := f(ctx, env); err != nil {
				s.Log.ErrorContext(ctx, "sweep failed", "environment", env, "error", err.Error())
				s.Metrics.Add("SweepFaults", emf.Count, 1)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = sweeps.Wait()
	return errs
}

// sweep sweeps one environment, and sends it to rest when nothing is left. quiet is when its quiet
// time ended, if it was that; busy is set when there is work.
func (s *Sweeper) sweep(
	ctx context.Context, env string, quiet time.Time, busy *atomic.Bool,
) error {
	swept, err := s.Engine.Sweep(ctx, env)
	if err != nil {
		return err
	}
	rest := maxQuiet
	if s.Orders != nil {
		most, err := s.Orders.Sweep(ctx, env)
		if err != nil {
			return err
		}
		if most > 0 {
			rest = most
		}
	}
	// a metric costs as much whether it says 0 or 1,000, but nothing in an hour in which it says
	// nothing
	if swept.Notified+swept.Due > 0 {
		busy.Store(true)
		s.Metrics.Add("Notified", emf.Count, float64(swept.Notified))
		s.Metrics.Add("Due", emf.Count, float64(swept.Due))
		s.Log.DebugContext(ctx, "swept", "environment", env, "notified", swept.Notified, "due",
			swept.Due)
		return errors.Join(s.measure(ctx, env, quiet), s.check(ctx, env))
	}
	s.seen.nothing(env)
	if s.Catch != nil { // what is not logged yet keeps it from resting
		if err := s.Catch.CatchUp(ctx, env); err != nil {
			return err
		}
	}
	until := s.Clock.Now().Add(rest)
	if !swept.Next.IsZero() && swept.Next.Before(until) {
		until = swept.Next
	}
	_, err = s.State.MarkQuiet(ctx, env, until)
	return fault.Wrap(fault.Unknown, "rest", err)
}

// check has the queues of agents mended that nobody serves.
func (s *Sweeper) check(ctx context.Context, env string) error {
	if s.Queues == nil {
		return nil
	}
	visited, err := s.Queues.Check(ctx, env)
	if visited > 0 {
		s.Log.InfoContext(ctx, "looked at agents that have work and were not served", "environment",
			env, "agents", visited)
	}
	return err
}

// measure says how old the oldest work is that nobody has looked at, and what follows from commits
// and is not done.
func (s *Sweeper) measure(ctx context.Context, env string, quiet time.Time) error {
	now := s.Clock.Now()
	entries, err := s.State.Outbox(ctx, env, 1)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read outbox", err)
	}
	age := 0.0
	if len(entries) > 0 {
		age = now.Sub(entries[0].At).Seconds()
	}
	s.Metrics.Sample("OutboxAge", emf.Seconds, age)
	waiting, err := s.dates.Unserved(ctx, s.State, env, now)
	if err != nil {
		return err
	}
	s.seen.shorten(env, waiting, now, quiet)
	oldest, unserved := time.Duration(0), 0
	for _, w := range waiting {
		oldest = max(oldest, w.For)
		if w.For >= NobodyServes {
			unserved++
			s.Log.WarnContext(ctx, "nobody serves an agent that has work", "environment", env,
				"agent", w.Agent, "seconds", int(w.For.Seconds()))
		}
	}
	s.Metrics.Sample("OldestReadyAge", emf.Seconds, oldest.Seconds())
	s.Metrics.Add("Unserved", emf.Count, float64(unserved))
	return nil
}
