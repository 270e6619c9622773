package engine

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// recordMutants are faults in what is written down of a run, and in what it is begun with.
func recordMutants() []mutant {
	return []mutant{
		commits("RecordSaysNothingChanged", "the record of a run does not say what was done", "L1",
			20, func(c *state.Commit, _ *State) {
				c.Actions = slices.Clone(c.Actions)
				for i := range c.Actions {
					c.Actions[i].Change = diff.NoChange
				}
			}, nil),
		commits("StaleNotMarked",
			"the record of a run whose intent was replaced looks like any other", "L1", 3000,
			func(c *state.Commit, _ *State) {
				c.Actions = slices.Clone(c.Actions)
				for i := range c.Actions {
					c.Actions[i].Stale = false
				}
			}, nil),
		commits("AttemptsForgotten", "how often something has failed in a row is not stored", "D7",
			300, func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].Attempts = min(c.Rows[i].Attempts, 1)
				}
			}, nil),
		commits("WaitingForgotten", "what a handler wants to be given back is not stored", "again",
			300, func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].Waiting = nil
				}
			}, nil),
		commits("LaneHeldTooShort",
			"a lane is taken for less time than a call of a handler may take", "D2", 20,
			func(c *state.Commit, _ *State) {
				if c.Guard.Key != planKey && len(c.Next) > 0 {
					c.Until = c.Until.Add(-90 * time.Second)
				}
			}, nil),
		commits("RunningNotSaid", "whoever takes a lane over is not told what was running in it",
			"D4", 50, nil, nil).wrapping(func(to state.State, s *State) state.State {
			return &saysNotRunning{to, s}
		}),
		stateMutant("PrioritiesMixedUp", "what is wanted last is run first", "", 300,
			func(to state.State, _ *State) state.State { return &mixesPriorities{to} }),
		commits("PlanOutOfOrder", "what is required is scheduled after what requires it", "order",
			20, func(c *state.Commit, _ *State) {
				if c.Guard.Key == planKey {
					slices.Reverse(c.Rows)
				}
			}, nil),
		{Mutant{Name: "NoticesOfOthersLost", Why: "what is done in one lane is not told to another",
			Check: "late", Config: func(c *deploy.Config, _ *State) {
				c.Notifier = &notifiesNoResults{c.Notifier}
			}}, 1000},
		{Mutant{Name: "ReportOnlyActs", Why: "what is only to be compared is changed", Check: "",
			Config: func(c *deploy.Config, _ *State) {
				c.State = &forgetsReportOnly{c.State}
			}}, 300},
		{Mutant{Name: "ConnectionsLeftOpen", Why: "a connection is not closed", Check: "transport",
			Config: func(c *deploy.Config, _ *State) {
				c.Connector = leavesOpen{c.Connector}
			}}, 20},
	}
}

type saysNotRunning struct {
	state.State
	s *State
}

func (m *saysNotRunning) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	out, err := m.State.Commit(ctx, env, c)
	if l := m.s.read(env).leases[c.Guard.Key]; err == nil && l != nil {
		l.Running = nil
	}
	return out, err
}

// notifiesNoResults leaves out notices that say what is done.
type notifiesNoResults struct{ state.Notifier }

func (m *notifiesNoResults) Notify(ctx context.Context, env string, notices []state.Notice) error {
	return m.Notifier.Notify(ctx, env,
		slices.DeleteFunc(slices.Clone(notices), func(r state.Notice) bool {
			return len(r.Done) > 0
		}))
}

// mixesPriorities turns priorities round in what a worker reads of its lane.
type mixesPriorities struct{ state.State }

func (m *mixesPriorities) AgentRows(
	ctx context.Context, env, lane string, all bool,
) ([]state.Row, error) {
	rows, err := m.State.AgentRows(ctx, env, lane, all)
	for i := range rows {
		rows[i].Priority = state.PriorityRepairTimer + 1 - rows[i].Priority
	}
	return rows, err
}

// forgetsReportOnly leaves that out of what a worker reads of its lane.
type forgetsReportOnly struct{ state.State }

func (m *forgetsReportOnly) AgentRows(
	ctx context.Context, env, lane string, all bool,
) ([]state.Row, error) {
	rows, err := m.State.AgentRows(ctx, env, lane, all)
	for i := range rows {
		if res, err := resource.Decode(rows[i].Body); err == nil && res.ReportOnly {
			res.ReportOnly = false
			rows[i].Body, _ = res.Encode()
		}
	}
	return rows, err
}

// leavesOpen gives connections that nobody can close.
type leavesOpen struct{ state.Connector }

func (m leavesOpen) Connect(ctx context.Context, a resource.Agent) (any, error) {
	transport, err := m.Connector.Connect(ctx, a)
	return struct{ any }{transport}, err
}

// keepMutants are faults in what is kept and for how long, in timers, and in what a dry run says.
func keepMutants() []mutant {
	return []mutant{
		commits("BaseForgotten", "partial exports are not merged into what was put in force again",
			"V1", 3000, func(c *state.Commit, _ *State) {
				if c.Env != nil && c.Env.Base != 0 {
					e := *c.Env
					e.Base = 0
					c.Env = &e
				}
			}, nil),
		stateMutant("CollectsChunks", "a collection does not see what versions refer to", "V2",
			1000, func(to state.State, _ *State) state.State { return &hidesChunks{to} }),
		{Mutant{Name: "CollectsNothing", Why: "a collection does not find what nobody needs",
			Check: "gc", Config: func(c *deploy.Config, _ *State) {
				c.Files = listsNothing{c.Files}
			}}, 100},
		stateMutant("ForgetsWhatIsReplaced",
			"what is replaced is not noted before the new one is made", "D8", 500,
			func(to state.State, _ *State) state.State { return &dropsNotes{to} }).in("replaced"),
		stateMutant("VersionsKeptForEver", "old versions are not forgotten", "gc", 300,
			func(to state.State, _ *State) state.State { return &neverForgets{to} }),
		stateMutant("RepairTimerNever", "the repair timer is not looked at", "D4", 100,
			func(to state.State, _ *State) state.State {
				return &changesEnv{to,
					func(e *state.Env) { e.Wave.At = e.Wave.At.Add(1000 * time.Hour) }}
			}),
		stateMutant("TimerRetriesForGood", "a timer runs what failed for good", "D7", 3000,
			func(to state.State, _ *State) state.State { return &keepsNoTerminal{to} }),
		{Mutant{Name: "DryRunReadsNothing", Why: "a dry run takes what it wants for what there is",
			Check: "", Config: func(c *deploy.Config, _ *State) {
				all := map[string]provider.Handler{}
				for name, h := range c.Handlers {
					all[name] = h
				}
				all[typeAssigned] = blind{all[typeAssigned]}
				c.Handlers = all
			}}, 300},
	}
}

// dropsNotes stores rows without their notes.
type dropsNotes struct{ state.State }

func (m *dropsNotes) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	c.Rows = slices.Clone(c.Rows)
	for i := range c.Rows {
		c.Rows[i].Notes = nil
	}
	return m.State.Commit(ctx, env, c)
}

// hidesChunks leaves out what versions hold where all of them are read.
type hidesChunks struct{ state.State }

func (m *hidesChunks) Versions(
	ctx context.Context, env string, numbers ...int,
) ([]state.Version, error) {
	vs, err := m.State.Versions(ctx, env, numbers...)
	if len(numbers) == 0 {
		for i := range vs {
			vs[i].Chunks = nil
		}
	}
	return vs, err
}

type listsNothing struct{ state.Files }

func (listsNothing) List(context.Context, func(string, time.Time) error) error { return nil }

type neverForgets struct{ state.State }

func (m *neverForgets) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	c.Forget = nil
	return m.State.Commit(ctx, env, c)
}

// changesEnv changes what is read of an environment.
type changesEnv struct {
	state.State
	change func(*state.Env)
}

func (m *changesEnv) Env(ctx context.Context, env string) (state.Env, error) {
	e, err := m.State.Env(ctx, env)
	m.change(&e)
	return e, err
}

// keepsNoTerminal forgets that a wave leaves out what waits for a person.
type keepsNoTerminal struct{ state.State }

func (m *keepsNoTerminal) Schedule(
	ctx context.Context, env string, agents ...string,
) (state.Schedule, error) {
	s, err := m.State.Schedule(ctx, env, agents...)
	s.Wave.KeepTerminal = false
	return s, err
}

// blind says in dry runs that what it is asked for is as it is wanted.
type blind struct{ provider.Handler }

func (h blind) Read(c *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	if c.DryRun() {
		return provider.Observation{Exists: true, Attributes: req.Resource.Attributes}, nil
	}
	return h.Handler.Read(c, req)
}
