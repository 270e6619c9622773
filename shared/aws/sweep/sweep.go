// Package sweep runs each minute for all environments. It finishes interrupted operations, runs
// timers, repeats lost notices, and marks environments without work as quiet.
// docs/design/functions.md describes the steps.
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

// Engine is the part of the engine that a sweep uses. *deploy.Engine implements it.
type Engine interface {
	Sweep(ctx context.Context, env string) (deploy.SweepResult, error)
	Collect(ctx context.Context, env string, grace time.Duration) (deploy.Collected, error)
}

// State is the part of the state that a sweep uses. *dynamo.State implements it.
type State interface {
	QuietUntil(ctx context.Context) (map[string]time.Time, error)
	MarkQuiet(ctx context.Context, env string, until time.Time) (bool, error)
	Outbox(ctx context.Context, env string, limit int) ([]state.Outbox, error)
	Watched
}

// Queues maintains the queues of agents. *provision.Provisioner implements it.
type Queues interface {
	// Check repairs the queues of agents that have work and are not served.
	Check(ctx context.Context, env string) (visited int, err error)
	// Idle disables the mappings that poll the queues of agents which have been idle for long.
	Idle(ctx context.Context) (slept int, err error)
	// Refresh updates the attributes of queues after an update of the stack.
	Refresh(ctx context.Context) (changed int, err error)
}

// PollSwitch enables polling of the log queue while it is needed. *provision.PollSwitch implements
// it.
type PollSwitch interface {
	SetNeeded(ctx context.Context, needed bool) error
}

// Log maintains the log of actions. *logs.Log implements it.
type Log interface {
	// CatchUp logs the actions whose messages were lost.
	CatchUp(ctx context.Context, env string) error
}

// Orders maintains the orders of services. *compiles.Finder implements it.
type Orders interface {
	// Sweep sends a notice if work on the orders of an environment is due. It returns the longest
	// time that the environment may stay quiet; 0: as long as without orders.
	Sweep(ctx context.Context, env string) (rest time.Duration, err error)
}

// Sweeper sweeps all environments. Fields that may be nil are marked.
type Sweeper struct {
	Engine  Engine
	State   State
	Queues  Queues     // nil: queues are not maintained
	Catch   Log        // nil: lost log messages are not recovered
	Orders  Orders     // nil: orders are not handled
	Polling PollSwitch // nil: the log queue is always polled
	Clock   state.Clock
	Log     *slog.Logger
	Metrics *emf.Set

	seen  seen
	dates Dates
}

const (
	sideBySide = 4
	// maxQuiet is how long an environment without timers and orders stays quiet.
	maxQuiet = 24 * time.Hour
	// spare is the rest of an invocation in which no sweep of a further environment begins.
	spare = 10 * time.Second
	// firstAgain and lastAgain are the first and the last pause before failed environments are swept
	// again. Together they end within the minute.
	firstAgain = 3 * time.Second
	lastAgain  = 12 * time.Second
)

// Run sweeps all environments. The time at is the minute for which Run was called. Run continues
// after an error, and returns the errors of all environments and chores.
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
	errs := s.again(ctx, awake, func(ctx context.Context, env string) error {
		return s.sweep(ctx, env, quietUntil[env], &busy)
	})
	if s.Polling != nil {
		errs = append(errs, s.Polling.SetNeeded(ctx, busy.Load()))
	}
	return errors.Join(append(errs, s.chores(ctx, envs, at)...)...)
}

// again calls f for environments, and again for those in which it failed: their lost notices do not
// wait for the next minute. It returns the errors of the last calls.
func (s *Sweeper) again(
	ctx context.Context, envs []string, f func(ctx context.Context, env string) error,
) []error {
	for pause := firstAgain; ; pause *= 2 {
		var mu sync.Mutex
		var failed []string
		errs := s.each(ctx, envs, func(ctx context.Context, env string) error {
			err := f(ctx, env)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, env)
			}
			return err
		})
		if len(errs) == 0 || pause > lastAgain || s.Clock.Sleep(ctx, pause) != nil {
			return errs
		}
		envs = slices.Sorted(slices.Values(failed))
	}
}

// each calls f for environments, sideBySide at a time, and returns the errors. When the invocation
// is nearly over, each leaves the remaining environments to the next minute.
func (s *Sweeper) each(
	ctx context.Context, envs []string, f func(ctx context.Context, env string) error,
) []error {
	var mu sync.Mutex
	var errs []error
	var late sync.Once
	var sweeps errgroup.Group // an error in one environment does not stop the others
	sweeps.SetLimit(sideBySide)
	for _, env := range envs {
		sweeps.Go(func() error {
			// Compares with the current time, because this sweep may have waited for other sweeps.
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

// sweep sweeps one environment, and marks it quiet if no work is left. If the environment was
// quiet, quiet is the end of its quiet time. sweep sets busy if there is work.
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
	// A metric costs the same for 0 and for 1,000, but costs nothing in an hour without samples.
	if swept.Notified+swept.Due > 0 {
		busy.Store(true)
		s.Metrics.Add("Notified", emf.Count, float64(swept.Notified))
		s.Metrics.Add("Due", emf.Count, float64(swept.Due))
		s.Log.DebugContext(ctx, "swept", "environment", env, "notified", swept.Notified, "due",
			swept.Due)
		return errors.Join(s.measure(ctx, env, quiet), s.check(ctx, env))
	}
	s.seen.nothing(env)
	if s.Catch != nil { // unlogged actions keep the environment awake
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

// check repairs the queues of agents that have work and are not served.
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

// measure records the age of the oldest outbox entry, which is an unfinished effect of a commit. It
// also records the age of the oldest work that is not served, and the number of such agents.
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
			s.Log.WarnContext(ctx, "an agent with work has no runner or function", "environment", env,
				"agent", w.Agent, "seconds", int(w.For.Seconds()))
		}
	}
	s.Metrics.Sample("OldestReadyAge", emf.Seconds, oldest.Seconds())
	s.Metrics.Add("Unserved", emf.Count, float64(unserved))
	return nil
}
