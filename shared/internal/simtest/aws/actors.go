package aws

import (
	"context"
	"fmt"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// env is the environment of all runs.
const env = "e"

const (
	leaseTime = 30 * time.Second
	keepTime  = 10 * time.Minute // of actions
	orphanAge = time.Hour
)

// The arguments and results of operations that have more than one.
type (
	acquireIn struct {
		key, holder string
		now, until  time.Time
	}
	laneIn struct {
		lane string
		all  bool
	}
	lookOut struct {
		rows   []state.Row
		counts map[state.Status]int
	}
	laneRowsIn struct {
		lane string
		all  bool
	}
	scanIn struct {
		after resource.ID
		limit int
	}
	finishedIn struct {
		ids   []resource.ID
		epoch int64
	}
	dueIn struct {
		at    time.Time
		limit int
	}
	dueOut struct {
		ids  []resource.ID
		next time.Time
	}
	pauseIn struct {
		paused bool
		agent  string
	}
)

// actorState is the state of a task.
type actorState struct {
	dice
	s *deployState
}

// dice draws the random choices of a task.
type dice struct {
	r *run
	t *task
}

// deployState calls the state of the process, and records each call as an operation.
//
// Large: it has a method for each operation of the port, all of which a run records.
type deployState struct {
	r *run
	p *process
}

func (s *deployState) env() (state.Env, error) {
	return call(s.r, "Env", nil,
		func(ctx context.Context) (state.Env, error) { return s.p.state.Env(ctx, env) })
}

func (s *deployState) versions(numbers ...int) ([]state.Version, error) {
	return call(s.r, "Versions", numbers,
		func(ctx context.Context) ([]state.Version,
			error) {
			return s.p.state.Versions(ctx, env, numbers...)
		})
}

func (s *deployState) agents() (map[string]state.Agent, error) {
	return call(s.r, "Agents", nil,
		func(ctx context.Context) (map[string]state.Agent,
			error) {
			return s.p.state.Agents(ctx, env)
		})
}

func (s *deployState) pause(paused bool, agent string) error {
	_, err := call(s.r, "Pause", pauseIn{paused, agent},
		func(ctx context.Context) (struct{}, error) {
			return struct{}{}, s.p.state.Pause(ctx, env, paused, agent)
		})
	return err
}

func (s *deployState) halt(halted bool) error {
	_, err := call(s.r, "Halt", halted,
		func(ctx context.Context) (struct{}, error) {
			return struct{}{},
				s.p.state.Halt(ctx, env, halted)
		})
	return err
}

func (s *deployState) acquire(key, holder string) (state.Lease, error) {
	in := acquireIn{key, holder, s.r.now, s.r.now.Add(leaseTime)}
	return call(s.r, "Acquire", in, func(ctx context.Context) (state.Lease, error) {
		return s.p.state.Acquire(ctx, env, key, holder, in.now, in.until)
	})
}

func (s *deployState) release(l state.Lease) error {
	_, err := call(s.r, "Release", l,
		func(ctx context.Context) (struct{}, error) {
			return struct{}{},
				s.p.state.Release(ctx, env, l)
		})
	return err
}

func (s *deployState) leases() ([]state.Lease, error) {
	return call(s.r, "Leases", nil,
		func(ctx context.Context) ([]state.Lease, error) { return s.p.state.Leases(ctx, env) })
}

func (s *deployState) rows(ids []resource.ID) ([]state.Row, error) {
	return call(s.r, "Rows", ids,
		func(ctx context.Context) ([]state.Row, error) { return s.p.state.Rows(ctx, env, ids) })
}

func (s *deployState) laneRows(lane string, all bool) ([]state.Row, error) {
	return call(s.r, "LaneRows", laneRowsIn{lane, all},
		func(ctx context.Context) ([]state.Row,
			error) {
			return s.p.state.LaneRows(ctx, env, lane, all)
		})
}

func (s *deployState) scanRows(after resource.ID, limit int) ([]state.Row, error) {
	return call(s.r, "ScanRows", scanIn{after, limit},
		func(ctx context.Context) ([]state.Row,
			error) {
			return s.p.state.ScanRows(ctx, env, after, limit)
		})
}

func (s *deployState) look(ids []resource.ID) (lookOut, error) {
	return call(s.r, "Look", ids, func(ctx context.Context) (out lookOut, err error) {
		out.rows, out.counts, err = s.p.state.Look(ctx, env, ids)
		return out, err
	})
}

func (s *deployState) lane(lane string, all bool) (state.Lane, error) {
	return call(s.r, "Lane", laneIn{lane, all}, func(ctx context.Context) (state.Lane, error) {
		out, err := s.p.state.Lane(ctx, env, lane,
			func(state.Schedule, state.Env) bool { return all })
		slices.SortFunc(out.Schedule.Tickets,
			func(a, b state.Ticket) int { return compareIDs(a.ID, b.ID) })
		return out, err
	})
}

func (s *deployState) schedule() (state.Schedule, error) {
	return call(s.r, "Schedule", nil, func(ctx context.Context) (state.Schedule, error) {
		out, err := s.p.state.Schedule(ctx, env)
		// tickets have no defined order
		slices.SortFunc(out.Tickets, func(a, b state.Ticket) int { return compareIDs(a.ID, b.ID) })
		return out, err
	})
}

func (s *deployState) finished(ids []resource.ID, epoch int64) ([]resource.ID, error) {
	return call(s.r, "Finished", finishedIn{ids, epoch},
		func(ctx context.Context) ([]resource.ID,
			error) {
			return s.p.state.Finished(ctx, env, ids, epoch)
		})
}

func (s *deployState) due(at time.Time, limit int) (dueOut, error) {
	return call(s.r, "Due", dueIn{at, limit}, func(ctx context.Context) (out dueOut, err error) {
		out.ids, out.next, err = s.p.state.Due(ctx, env, at, limit)
		return out, err
	})
}

func (s *deployState) counts() (map[state.Status]int, error) {
	return call(s.r, "Counts", nil,
		func(ctx context.Context) (map[state.Status]int,
			error) {
			return s.p.state.Counts(ctx, env)
		})
}

func (s *deployState) commit(c state.Commit) (state.Committed, error) {
	out, err := s.justCommit(c)
	if err == nil && c.Plan { // a notifier reads the idle epoch now
		_, _ = call(s.r, "IdleEpoch", s.r.cur.op,
			func(context.Context) (int64, error) { return s.p.state.IdleEpoch(env), nil })
	}
	return out, err
}

func (s *deployState) setIdleEpoch(number int64) error {
	_, err := call(s.r, "SetIdleEpoch", number, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.p.state.SetIdleEpoch(ctx, env, number)
	})
	return err
}

func (s *deployState) justCommit(c state.Commit) (state.Committed, error) {
	return call(s.r, "Commit", c,
		func(ctx context.Context) (state.Committed, error) { return s.p.state.Commit(ctx, env, c) })
}

func (s *deployState) overview() (deploy.Overview, error) {
	return call(s.r, "Overview", nil, func(ctx context.Context) (deploy.Overview, error) {
		return s.p.state.Overview(ctx, env)
	})
}

func (s *deployState) outbox() ([]state.Outbox, error) {
	return call(s.r, "Outbox", nil,
		func(ctx context.Context) ([]state.Outbox,
			error) {
			return s.p.state.Outbox(ctx, env, 1000)
		})
}

func (s *deployState) parameters(q state.ParameterQuery) ([]state.Parameter, error) {
	return call(s.r, "Parameters", q,
		func(ctx context.Context) ([]state.Parameter,
			error) {
			return s.p.state.Parameters(ctx, env, q)
		})
}

func (s *deployState) actions(q state.ActionQuery) ([]state.Action, error) {
	return call(s.r, "Actions", q,
		func(ctx context.Context) ([]state.Action, error) { return s.p.state.Actions(ctx, env, q) })
}

func (s *deployState) dropActions(before time.Time) (int, error) {
	return call(s.r, "DropActions", before,
		func(ctx context.Context) (int, error) { return s.p.state.DropActions(ctx, env, before) })
}

func (s *deployState) dropOrphans(before time.Time) (int, error) {
	return call(s.r, "DropOrphans", before,
		func(ctx context.Context) (int, error) { return s.p.state.DropOrphans(ctx, before) })
}

func (s *deployState) rest(until time.Time) (bool, error) {
	return call(s.r, "MarkQuiet", until,
		func(ctx context.Context) (bool, error) { return s.p.state.MarkQuiet(ctx, env, until) })
}

func (s *deployState) resting() (map[string]time.Time, error) {
	return call(s.r, "QuietUntil", nil,
		func(ctx context.Context) (map[string]time.Time,
			error) {
			return s.p.state.QuietUntil(ctx)
		})
}

// act plays a role.
func (a *actorState) act(x actor) {
	for round := range x.rounds {
		if a.r.failed != nil {
			return
		}
		switch x.role {
		case planner:
			a.plan(round)
		case worker:
			a.work(round)
		case operator:
			a.operate()
		case reader:
			a.read()
			a.read()
		case collector:
			a.collect()
		case logger:
			a.keepLog()
		}
		if a.t.rng.IntN(2) == 0 {
			a.read()
		}
	}
}

func (d *dice) chance(percent int) bool { return d.t.rng.IntN(100) < percent }

func (d *dice) agent() string { return string(rune('a' + d.t.rng.IntN(d.r.plan.agents))) }

// lane returns a random lane of an agent. Each agent has two.
func (d *dice) lane(agent string) string { return fmt.Sprintf("%s/%d", agent, d.t.rng.IntN(2)) }

func (d *dice) anyID() resource.ID { return idOf(d.agent(), d.t.rng.IntN(d.r.plan.names)) }

func idOf(agent string, n int) resource.ID {
	return resource.NewID("std::Null", agent,
		resource.Key{Name: "name", Value: fmt.Sprintf("n%d", n)})
}

// number returns a number that is unique in this run.
func (d *dice) number() int {
	d.r.made++
	return d.r.made
}

func (d *dice) holder(round int) string {
	return fmt.Sprintf("p%d.%d#%s.%d", d.t.proc.index, d.t.life, d.t.name, round)
}

func (d *dice) newAction(of resource.ID, version int) state.Action {
	now := d.r.now
	return state.Action{ID: fmt.Sprintf("%016x%04x", now.UnixNano(), d.number()), Resource: of,
		Version: version, Action: state.ActionDeploy,
		Outcome: state.StatusDeployed, Started: now, Finished: now}
}

// leave releases a lease. In plans that forget leases it sometimes does not.
func (a *actorState) leave(l state.Lease) {
	if !a.r.plan.forgets || a.r.calm || a.chance(70) {
		_ = a.s.release(l)
	}
}

func gone(err error) bool { return fault.Is(err, fault.Fenced) }
