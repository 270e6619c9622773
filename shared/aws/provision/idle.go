package provision

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

const (
	// after the last lease of an agent with work, before somebody looks why nobody serves it
	unserved     = time.Minute
	recheckEvery = 10 * time.Minute // at such an agent
	maxChecked   = 500              // of these at once
	idleEvery    = 50 * time.Minute // at most, agents that may be idle are looked for
	maxDisabled  = 100              // checkedAt at then
	checking     = time.Minute      // that Check takes
	checkSpare   = 20 * time.Second // of an invocation, that it leaves
)

// life is what the state says about whether somebody has to listen to an agent.
type life struct {
	work bool      // something is scheduled
	held bool      // a lane is being served
	last time.Time // when the last lease of a lane ended or ends; zero: none was ever taken
}

// lives returns the agents that have lanes, or work.
func (p *agents) lives(ctx context.Context, env string) (map[string]*life, state.Schedule, error) {
	out := map[string]*life{}
	of := func(lane string) *life {
		agent := state.AgentOf(lane)
		if out[agent] == nil {
			out[agent] = &life{}
		}
		return out[agent]
	}
	leases, err := p.State.Leases(ctx, env)
	if err != nil {
		return nil, state.Schedule{}, fault.Wrap(fault.Unknown, "read leases", err)
	}
	now := p.Clock.Now()
	for _, l := range leases {
		if !strings.Contains(l.Key, "/") { // the planner's
			continue
		}
		a := of(l.Key)
		a.held = a.held || (l.Holder != "" && now.Before(l.Until))
		if l.Until.After(a.last) {
			a.last = l.Until
		}
	}
	s, err := p.State.Schedule(ctx, env)
	if err != nil {
		return nil, s, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	for _, t := range s.Tickets {
		of(t.Lane).work = true
	}
	for lane := range s.Unfinished {
		of(lane).work = true
	}
	return out, s, nil
}

// Check looks at the agents that have work and that nobody has served for a minute: it makes what
// is missing of queue and mapping, and enables a mapping that is disabled, and what was put off as
// well. The sweep calls it for every environment with work, so that nothing is left waiting for the
// next notice of somebody who happens to know nothing, whatever was interrupted or lost before. It
// returns how many agents were looked at. An error of one agent keeps none of the others from it;
// what there is no time for is left to the next minute.
func (p *Provisioner) Check(ctx context.Context, env string) (checked int, err error) {
	checked, err = p.putOffUnserved(ctx, env)
	until := p.Clock.Now().Add(checking)
	if end, ok := ctx.Deadline(); ok && end.Add(-checkSpare).Before(until) {
		until = end.Add(-checkSpare)
	}
	left, failed := p.Prepare(ctx, p.Take(), until)
	for _, j := range left { // there was no time: they are checked again soon
		p.recheckSoon(owner{j.Env, j.Agent})
	}
	return checked, errors.Join(err, failed)
}

// putOffUnserved finds the agents that have to be looked at.
func (p *agents) putOffUnserved(ctx context.Context, env string) (checked int, err error) {
	lives, s, err := p.lives(ctx, env)
	if err != nil || s.Halted {
		return 0, err
	}
	agents, err := p.State.Agents(ctx, env)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read agents", err)
	}
	now := p.Clock.Now()
	for _, agent := range slices.Sorted(maps.Keys(lives)) {
		if checked == maxChecked || ctx.Err() != nil {
			break
		}
		a, o := lives[agent], owner{env, agent}
		if !a.work || a.held || now.Before(a.last.Add(unserved)) || agents[agent].Paused ||
			!p.dueForCheck(o, now) { // asked last: it notes that the agent is looked at
			continue
		}
		checked++
		p.PutOff(env, agent, nil)
	}
	return checked, nil
}

// dueForCheck reports whether it is time to look at an agent, and notes that it is being done.
func (p *agents) dueForCheck(o owner, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.checkedAt[o]; ok && now.Before(last.Add(recheckEvery)) {
		return false
	}
	p.checkedAt[o] = now
	return true
}

func (p *agents) recheckSoon(o owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.checkedAt, o)
}

// Idle disables the mappings of agents on which nothing has run for a long time and nothing is
// scheduled, and those of agents that functions do not reach any more. It may be called every
// minute: most calls do nothing at all. It returns how many mappings it disabled.
func (p *agents) Idle(ctx context.Context) (disabled int, err error) {
	now := p.Clock.Now()
	p.mu.Lock()
	due := p.IdleAfter > 0 && !now.Before(p.nextIdle)
	if due {
		p.nextIdle = now.Add(min(idleEvery, p.IdleAfter/4))
	}
	p.mu.Unlock()
	if !due {
		return 0, nil
	}
	envs, err := p.State.Envs(ctx)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read environments", err)
	}
	for _, env := range envs {
		n, e := p.idle(ctx, env, now)
		disabled += n
		if err == nil {
			err = e
		}
	}
	return disabled, err
}

// idle does what Idle does for one environment. The order is what makes it safe: first everybody is
// told that agents may be idle, then mappings are disabled, then what was scheduled meanwhile is
// looked at. Whoever schedules after the first knows that it has to wake; what was scheduled before
// is seen in the end. Should this process die in between, Check finds what waits.
func (p *agents) idle(ctx context.Context, env string, now time.Time) (disabled int, err error) {
	agents, anyIdle, err := p.idleAgents(ctx, env, now)
	if err != nil {
		return 0, err
	}
	if !anyIdle && p.State.IdleEpoch(env) != 0 { // every agent has been served lately: none is idle
		return 0,
			fault.Wrap(fault.Unknown, "note that no agent is idle",
				p.State.SetIdleEpoch(ctx, env, 0))
	}
	if len(agents) == 0 {
		return 0, nil
	}
	if len(agents) == maxDisabled { // there may be more: the next minute goes on
		p.mu.Lock()
		p.nextIdle = now
		p.mu.Unlock()
	}
	number := max(p.State.IdleEpoch(env)+1, now.Unix())
	if err := p.State.SetIdleEpoch(ctx, env, number); err != nil {
		return 0, fault.Wrap(fault.Unknown, "note that agents are idle", err)
	}
	for _, agent := range agents {
		did, e := p.disable(ctx, owner{env, agent})
		if did {
			disabled++
		}
		if err == nil {
			err = e
		}
	}
	lives, _, e := p.lives(ctx, env)
	if e != nil {
		return disabled, e
	}
	for _, agent := range agents {
		if a := lives[agent]; a != nil && a.work {
			if e := p.Wake(ctx, env, agent); err == nil {
				err = e
			}
		}
	}
	return disabled, err
}

// idleAgents returns idle agents whose mappings are not known to be disabled, at most maxDisabled
// of them, and whether there are idle agents at all.
func (p *agents) idleAgents(ctx context.Context, env string, now time.Time) (
	found []string, anyIdle bool, err error,
) {
	lives, _, err := p.lives(ctx, env)
	if err != nil {
		return nil, false, err
	}
	agents, err := p.State.Agents(ctx, env)
	if err != nil {
		return nil, false, fault.Wrap(fault.Unknown, "read agents", err)
	}
	for agent := range agents {
		if lives[agent] == nil {
			lives[agent] = &life{}
		}
	}
	if err := p.sinceVersion(ctx, env, lives); err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, agent := range slices.Sorted(maps.Keys(lives)) {
		a, o := lives[agent], owner{env, agent}
		known, ok := agents[agent]
		reached := ok && p.Reaches(known.Agent)
		if reached && (a.work || a.held || a.last.IsZero() || now.Before(a.last.Add(p.IdleAfter))) {
			delete(p.disabled, o)
			continue
		}
		anyIdle = anyIdle || reached
		if !p.disabled[o] && len(found) < maxDisabled {
			found = append(found, agent)
		}
	}
	return found, anyIdle, nil
}

// sinceVersion has agents without work on which nothing ever ran, as what is wanted of them is not
// known, count as served when the newest version was stored, which may have brought them. Their
// queues were made with that, and would be polled for ever.
func (p *agents) sinceVersion(ctx context.Context, env string, lives map[string]*life) error {
	var never []*life
	for _, a := range lives {
		if a.last.IsZero() && !a.work {
			never = append(never, a)
		}
	}
	if len(never) == 0 {
		return nil
	}
	e, err := p.State.Env(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	if e.Last == 0 {
		return nil
	}
	versions, err := p.State.Versions(ctx, env, e.Last) // not all: each may take megabytes
	if err != nil {
		return fault.Wrap(fault.Unknown, "read versions", err)
	}
	for i := range versions {
		for _, a := range never {
			a.last = versions[i].At
		}
	}
	return nil
}

// disable disables the mapping of an agent, and reports whether it was enabled.
func (p *agents) disable(ctx context.Context, o owner) (bool, error) {
	url, err := p.queues.Lookup(ctx, o.env, o.agent)
	did := false
	if err == nil {
		did, err = p.disconnect(ctx, o, url)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return did, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disabled[o] = true
	delete(p.enabled, o)
	return did, nil
}
