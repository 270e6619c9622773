package provision

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

const (
	// time after the last lease of an agent with work, before Check examines the agent
	unserved     = time.Minute
	recheckEvery = 10 * time.Minute // interval between two checks of such an agent
	maxChecked   = 500              // agents that one call of Check examines
	idleEvery    = 50 * time.Minute // at most; interval between searches for idle agents
	maxDisabled  = 100              // agents that one search disables in an environment
	checking     = time.Minute      // maximum duration of Check
	checkSpare   = 20 * time.Second // time of an invocation that Check leaves unused
)

// life is the state of an agent that decides whether its queue has to be polled.
type life struct {
	work bool      // a resource of the agent is scheduled
	held bool      // a process serves the agent
	last time.Time // when the last lease ended or ends; zero: there was no lease
}

// lives returns the agents that have leases or work.
func (p *agents) lives(ctx context.Context, env string) (map[string]*life, state.Schedule, error) {
	out := map[string]*life{}
	of := func(agent string) *life {
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
		if l.Key == state.PlanKey {
			continue
		}
		a := of(l.Key)
		a.held, a.last = l.Holder != "" && now.Before(l.Until), l.Until
	}
	s, err := p.State.Schedule(ctx, env)
	if err != nil {
		return nil, s, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	for _, t := range s.Tickets {
		of(t.Agent).work = true
	}
	for agent := range s.Unfinished {
		of(agent).work = true
	}
	return out, s, nil
}

// Check examines the agents that have work and have not been served for a minute. It makes missing
// queues and mappings, and enables disabled mappings. It also prepares all agents that were put
// off. The sweep calls Check for every environment with work. So an agent need not wait for the
// next notice of a process that does not know the state of its queue. This holds whatever was
// interrupted or lost before. Check returns the number of agents that it examined. An error of one
// agent does not stop the others. Agents for which there is no time are left to the next minute.
func (p *Provisioner) Check(ctx context.Context, env string) (checked int, err error) {
	checked, err = p.putOffUnserved(ctx, env)
	until := p.Clock.Now().Add(checking)
	if end, ok := ctx.Deadline(); ok && end.Add(-checkSpare).Before(until) {
		until = end.Add(-checkSpare)
	}
	left, failed := p.Prepare(ctx, p.Take(), until)
	for _, j := range left { // there was no time: these agents are due for a check immediately
		p.recheckSoon(owner{j.Env, j.Agent})
	}
	return checked, errors.Join(err, failed)
}

// putOffUnserved finds the agents that Check has to examine, and puts them off for Prepare.
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
			!p.dueForCheck(o, now) { // comes last, because it records the check
			continue
		}
		checked++
		p.PutOff(env, agent, nil)
	}
	return checked, nil
}

// dueForCheck reports whether a check of an agent is due, and records the check.
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

// Idle disables the mappings of agents that have had no lease for a long time and have no scheduled
// resources. It also disables the mappings of agents that functions no longer reach. It may be
// called every minute: most calls return without a request. It returns the number of mappings that
// it disabled.
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

// idle implements Idle for one environment. Its order makes it safe. First it publishes an idle
// epoch, which announces that agents may be idle. Then it disables mappings. Then it reads the
// schedule again. A process that schedules after the first step knows that it has to wake the
// agent. Work that was scheduled before is found in the last step. If this process dies in between,
// Check finds the waiting agents.
func (p *agents) idle(ctx context.Context, env string, now time.Time) (disabled int, err error) {
	agents, anyIdle, err := p.idleAgents(ctx, env, now)
	if err != nil {
		return 0, err
	}
	if !anyIdle && p.State.IdleEpoch(env) != 0 { // every agent was served recently: none is idle
		return 0,
			fault.Wrap(fault.Unknown, "note that no agent is idle",
				p.State.SetIdleEpoch(ctx, env, 0))
	}
	if len(agents) == 0 {
		return 0, nil
	}
	if len(agents) == maxDisabled { // there may be more: continue in the next minute
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
// of them. It also reports whether any agent that functions reach is idle.
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

// sinceVersion sets the last lease of agents that never had a lease and have no work. This is the
// case if the desired values of their resources are unknown. They count as served when the newest
// version was stored, which may have introduced them. Their queues were made with that version, and
// would otherwise be polled for ever.
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
	versions, err := p.State.Versions(ctx, env, e.Last) // not all versions: each may take megabytes
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

// disable disables the mapping of an agent, and reports whether disable changed it.
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
