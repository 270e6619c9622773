package sweep

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Watched is what Unserved reads; state.State has it.
type Watched interface {
	Schedule(ctx context.Context, env string, agents ...string) (state.Schedule, error)
	Leases(ctx context.Context, env string) ([]state.Lease, error)
	Agents(ctx context.Context, env string, names ...string) (map[string]state.Agent, error)
	Env(ctx context.Context, env string) (state.Env, error)
	Versions(ctx context.Context, env string, numbers ...int) ([]state.Version, error)
}

// NobodyServes is how long an agent with work must have been left alone to be called unserved.
// Whoever serves a queue is notified each minute.
const NobodyServes = 3 * time.Minute

// Waiting is an agent that has work which nobody does.
type Waiting struct {
	Agent string
	For   time.Duration
}

// Unserved returns the agents that have work, are not paused and are not served just now, by name,
// with how long nobody has looked at them: since the last lease of one of their lanes ended, or
// since something may have brought the work, if that came later; when there was no lease, since the
// released version was stored. What a filter or a retry asked for leaves no time behind, so to an
// agent that was idle it may seem older than it is.
func (d *Dates) Unserved(
	ctx context.Context, watched Watched, env string, now time.Time,
) ([]Waiting, error) {
	s, err := watched.Schedule(ctx, env)
	if err != nil || s.Halted {
		return nil, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	work := map[string]bool{}
	for _, t := range s.Tickets {
		work[t.Lane] = true
	}
	for lane := range s.Unfinished {
		work[lane] = true
	}
	if len(work) == 0 {
		return nil, nil
	}
	agents, err := watched.Agents(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	leases, err := watched.Leases(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read leases", err)
	}
	last := map[string]time.Time{} // by lane
	for _, l := range leases {
		last[l.Key] = l.Until
	}
	var came *arrival
	oldest := map[string]time.Time{}
	for lane := range work {
		agent := state.AgentOf(lane)
		at, served := last[lane]
		if idle := served && now.Sub(at) >= NobodyServes; came == nil && (idle || !served) {
			a, err := d.arrivals(ctx, watched, env)
			if err != nil {
				return nil, err
			}
			came = &a
		}
		switch {
		case !served: // its work is as old as this
			at = came.released
		case now.Sub(at) >= NobodyServes:
			at = firstAfter(came.brought, at)
		}
		if have, ok := oldest[agent]; !agents[agent].Paused && (!ok || at.Before(have)) {
			oldest[agent] = at
		}
	}
	var out []Waiting
	for _, agent := range slices.Sorted(maps.Keys(oldest)) {
		if d := now.Sub(oldest[agent]); d > 0 && !oldest[agent].IsZero() {
			out = append(out, Waiting{agent, d})
		}
	}
	return out, nil
}

// recent is how many versions are looked at: an environment that gets one each minute shall not
// seem to have got its work just now.
const recent = 8

// arrival is when the work of agents may have come.
type arrival struct {
	released time.Time   // when the released version was stored; zero: it is not kept
	brought  []time.Time // all agents may have got work then
}

// arrivals returns when agents may have got work: with one of the last versions, a repair or the
// deploy timer.
func (d *Dates) arrivals(ctx context.Context, watched Watched, env string) (arrival, error) {
	e, err := watched.Env(ctx, env)
	if err != nil {
		return arrival{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	out := arrival{brought: []time.Time{e.Wave.At, e.LastDeploy}}
	var numbers []int
	for n := e.Released; n > 0 && len(numbers) < recent; n-- {
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		return out, nil
	}
	stored, err := d.of(ctx, watched, env, numbers...)
	if err != nil {
		return arrival{}, err
	}
	out.released = stored[0]
	for _, at := range stored {
		if !at.IsZero() {
			out.brought = append(out.brought, at)
		}
	}
	return out, nil
}

// firstAfter returns the first of some times that is after another one, else that one.
func firstAfter(times []time.Time, after time.Time) time.Time {
	first := after
	for _, t := range times {
		if t.After(after) && (first.Equal(after) || t.Before(first)) {
			first = t
		}
	}
	return first
}
