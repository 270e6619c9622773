package sweep

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Watched is the part of the state that Unserved reads. state.State includes it.
type Watched interface {
	Schedule(ctx context.Context, env string, agents ...string) (state.Schedule, error)
	Leases(ctx context.Context, env string) ([]state.Lease, error)
	Agents(ctx context.Context, env string, names ...string) (map[string]state.Agent, error)
	Env(ctx context.Context, env string) (state.Env, error)
	Versions(ctx context.Context, env string, numbers ...int) ([]state.Version, error)
}

// NobodyServes is how long an agent with work must go without a lease to count as unserved. The
// server of a queue is notified each minute.
const NobodyServes = 3 * time.Minute

// Waiting is an agent that has work and is not served.
type Waiting struct {
	Agent string
	For   time.Duration
}

// Unserved returns the agents, sorted by name, that have work, are not paused and are not being
// served. For each it returns how long the agent has waited. That is the time since the last lease
// ended, or since work may have arrived, if that is later. Without a lease it
// is the time since the released version was stored. Work from a filter or a retry records no time,
// so an idle agent may seem to have waited longer than it has.
func (d *Dates) Unserved(
	ctx context.Context, watched Watched, env string, now time.Time,
) ([]Waiting, error) {
	s, err := watched.Schedule(ctx, env)
	if err != nil || s.Halted {
		return nil, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	work := map[string]bool{}
	for _, t := range s.Tickets {
		work[t.Agent] = true
	}
	for agent := range s.Unfinished {
		work[agent] = true
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
	last := map[string]time.Time{} // by agent
	for _, l := range leases {
		last[l.Key] = l.Until
	}
	var came *arrival
	oldest := map[string]time.Time{}
	for agent := range work {
		at, served := last[agent]
		if idle := served && now.Sub(at) >= NobodyServes; came == nil && (idle || !served) {
			a, err := d.arrivals(ctx, watched, env)
			if err != nil {
				return nil, err
			}
			came = &a
		}
		switch {
		case !served: // no lease: its work is as old as the released version
			at = came.released
		case now.Sub(at) >= NobodyServes:
			at = firstAfter(came.brought, at)
		}
		if !agents[agent].Paused {
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

// recent limits the versions that arrivals reads. All of them are read, so that an environment with
// a new version each minute does not seem to have just received its work.
const recent = 8

// arrival holds the times when agents may have received work.
type arrival struct {
	released time.Time   // when the released version was stored; zero: not retained
	brought  []time.Time // times when any agent may have received work
}

// arrivals returns the times when agents may have received work: from one of the last versions, a
// repair or the deploy timer.
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

// firstAfter returns the earliest of times that is later than after. If there is none, it returns
// after.
func firstAfter(times []time.Time, after time.Time) time.Time {
	first := after
	for _, t := range times {
		if t.After(after) && (first.Equal(after) || t.Before(first)) {
			first = t
		}
	}
	return first
}
