package engine

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// mutant is a mutant with how many seeds are enough to find it.
type mutant struct {
	Mutant
	within uint64
}

// mutants are faults as a home or the engine could have them. Each wraps the ports of a process, so
// that the engine under test is the one of production.
func mutants() []mutant {
	return slices.Concat(leaseMutants(), claimMutants(), crashMutants(), storeMutants(),
		timerMutants(), messageMutants(), recordMutants(), keepMutants(), stateMutants())
}

// state makes a mutant of what a port of State does.
func stateMutant(
	name, why, check string, within uint64, wrap func(state.State, *State) state.State,
) mutant {
	return mutant{Mutant{Name: name, Why: why, Check: check,
		Config: func(c *deploy.Config, s *State) { c.State = wrap(c.State, s) }}, within}
}

// commits makes a mutant that changes what is committed, or what is answered.
func commits(name, why, check string, within uint64, before func(c *state.Commit, s *State),
	after func(c *state.Commit, out *state.Committed)) mutant {
	return stateMutant(name, why, check, within, func(to state.State, s *State) state.State {
		return &mutantCommit{to, s, before, after}
	})
}

type mutantCommit struct {
	state.State
	s      *State
	before func(c *state.Commit, s *State)
	after  func(c *state.Commit, out *state.Committed)
}

func (m *mutantCommit) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	c.Rows = slices.Clone(c.Rows)
	if m.before != nil {
		m.before(&c, m.s)
	}
	out, err := m.State.Commit(ctx, env, c)
	if err == nil && m.after != nil {
		m.after(&c, &out)
	}
	return out, err
}

func leaseMutants() []mutant {
	return []mutant{
		commits("FenceNotChecked", "the fence of a commit is not compared with the lease's", "",
			2000, func(c *state.Commit, s *State) {
				if l := s.read(env).leases[c.Guard.Key]; l != nil {
					c.Guard.Fence = l.Fence
					if l.Holder == "" {
						l.Holder = "nobody"
					}
				}
			}, nil),
		stateMutant("LeaseNotConditional", "a lease is taken although another holds it", "D2", 100,
			func(to state.State, _ *State) state.State { return &takesLeases{to} }),
		commits("PauseNotLookedAt", "work starts although the agent is paused", "pause", 300,
			func(c *state.Commit, s *State) {
				if e := s.read(env); len(c.Next) > 0 && c.SeenPlan == e.env.PlanSeq {
					for name, a := range e.agents {
						a.Paused = false
						e.agents[name] = a
					}
				}
			}, nil).in("stops"),
		commits("HaltNotLookedAt", "work starts although the environment is halted", "", 300,
			func(c *state.Commit, s *State) {
				if e := s.read(env); len(c.Next) > 0 && e.env.Halted {
					e.env.Halted, c.SeenPlan = false, e.env.PlanSeq
				}
			}, nil).in("stops"),
		commits("TakenOverForgotten", "what the holder before was running is not told to the next",
			"D4", 500, nil, nil).wrapping(func(to state.State, _ *State) state.State {
			return &forgetsRunning{to}
		}),
	}
}

// in looks for a mutant in plans with a focus.
func (m mutant) in(focus string) mutant {
	m.Focus = FocusOf(focus)
	return m
}

// wrapping replaces what a mutant does to State.
func (m mutant) wrapping(wrap func(state.State, *State) state.State) mutant {
	m.Config = func(c *deploy.Config, s *State) { c.State = wrap(c.State, s) }
	return m
}

// takesLeases takes every lease, as if the ones held had expired.
type takesLeases struct{ state.State }

func (m *takesLeases) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	return m.State.Acquire(ctx, env, key, holder, now.Add(100*time.Hour), until)
}

type forgetsRunning struct{ state.State }

func (m *forgetsRunning) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	l, err := m.State.Acquire(ctx, env, key, holder, now, until)
	l.Running = nil
	return l, err
}

func claimMutants() []mutant {
	return []mutant{
		commits("ClaimNotConditional", "a claim is accepted on a schedule that has changed", "",
			3000, func(c *state.Commit, s *State) { c.SeenPlan = s.read(env).env.PlanSeq }, nil),
		commits("RevisionNotChecked", "a row is written although somebody else has changed it", "",
			1000, func(c *state.Commit, s *State) {
				for i := range c.Rows {
					if have := s.read(env).rows[c.Rows[i].ID]; have != nil {
						c.Rows[i].Rev = have.Rev
					}
				}
			}, nil),
		stateMutant("StaleResultAccepted",
			"the result for an intent that was replaced counts for the new one", "", 3000,
			func(to state.State, s *State) state.State { return &acceptsStale{to, s} }),
		stateMutant("OrderForgotten", "what is scheduled in other lanes is not looked at", "D1",
			300, func(to state.State, _ *State) state.State { return &forgetsTickets{to} }),
		stateMutant("RequirementsReadLate", "what is required is read from a copy that lags behind",
			"", 500, func(to state.State, _ *State) state.State {
				return &lags{State: to, seen: map[resource.ID]state.Row{}}
			}),
		commits("WaveEndsEarly", "a check of everything counts as done in a lane that has begun it",
			"", 2000, func(c *state.Commit, s *State) {
				if c.Guard.Key != planKey {
					c.WaveDone = s.read(env).env.Wave.Epoch
				}
			}, nil),
	}
}

// acceptsStale writes results that conflict onto whatever the row is now.
type acceptsStale struct {
	state.State
	s *State
}

func (m *acceptsStale) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	if c.Guard.Key == planKey {
		return m.State.Commit(ctx, env, c)
	}
	c.Rows = slices.Clone(c.Rows)
	for i := range c.Rows {
		r := &c.Rows[i]
		if have := m.s.read(env).rows[r.ID]; have != nil && have.Rev != r.Rev &&
			r.LastRun == state.RunSuccess {
			r.Rev, r.Hash, r.Version, r.Body, r.Agent, r.Orphaned, r.Deployed = have.Rev, have.Hash,
				have.Version, have.Body, have.Agent, have.Orphaned, have.Hash
		}
	}
	return m.State.Commit(ctx, env, c)
}

// forgetsTickets leaves the tickets out of schedules.
type forgetsTickets struct{ state.State }

func (m *forgetsTickets) Schedule(
	ctx context.Context, env string, agents ...string,
) (state.Schedule, error) {
	s, err := m.State.Schedule(ctx, env, agents...)
	if len(s.Tickets) > 1 {
		s.Tickets = s.Tickets[:1]
	}
	return s, err
}

// lags answers Rows with what it has seen first.
type lags struct {
	state.State
	seen map[resource.ID]state.Row
}

func (m *lags) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	rows, err := m.State.Rows(ctx, env, ids)
	for i := range rows {
		if old, ok := m.seen[rows[i].ID]; ok {
			rows[i] = old
		} else {
			m.seen[rows[i].ID] = rows[i]
		}
	}
	return rows, err
}

func crashMutants() []mutant {
	return []mutant{
		commits("WakeLostAfterCrash", "what follows from a commit is not stored with it", "D4", 300,
			func(c *state.Commit, _ *State) { c.AddOutbox = nil }, nil).in("woken"),
		commits("FactChangeDropped", "that a fact has changed is not stored with it", "", 100,
			func(c *state.Commit, _ *State) {
				c.AddOutbox = slices.DeleteFunc(slices.Clone(c.AddOutbox),
					func(o state.Outbox) bool { return o.Kind == state.OutboxFact })
			}, nil).in("facts"),
		stateMutant("OutboxNeverRead", "what was left to follow is not found again", "", 3000,
			func(to state.State, _ *State) state.State { return &noOutbox{to} }),
		commits("OutboxDroppedAtOnce", "what follows is struck off before it is done", "", 3000,
			func(c *state.Commit, s *State) {
				for _, o := range c.AddOutbox {
					if o.Kind != state.OutboxFact {
						c.DropOutbox = append(slices.Clip(c.DropOutbox), o.ID)
					}
				}
			}, nil),
		commits("CreateRepeatedWithoutLookUp", "that a create was begun is not stored", "D8", 1000,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].Creating = ""
				}
			}, nil),
		commits("ResultLost", "a row is struck off the schedule and its result is not written", "",
			300, func(c *state.Commit, s *State) {
				n := len(c.Rows) - 1
				if n < 0 || c.Guard.Key == planKey || c.Rows[n].Ticket() != 0 {
					return
				}
				if have := s.read(env).rows[c.Rows[n].ID]; have != nil &&
					have.Rev == c.Rows[n].Rev {
					c.Rows[n] = *have
					c.Rows[n].Observed, c.Rows[n].RunAgain = have.Generation, false
				}
			}, nil),
		commits("ActionsLost", "the records of runs are not stored with their results", "L1", 50,
			func(c *state.Commit, _ *State) { c.Actions = nil }, nil),
		stateMutant("VersionForgottenEarly", "a version in force is forgotten", "", 3000,
			func(to state.State, _ *State) state.State { return &forgetsVersions{to} }),
	}
}

type noOutbox struct{ state.State }

func (m *noOutbox) Outbox(context.Context, string, int) ([]state.Outbox, error) { return nil, nil }

// forgetsVersions forgets the version that a commit releases, together with old ones.
type forgetsVersions struct{ state.State }

func (m *forgetsVersions) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	if len(c.Forget) > 0 && c.Env != nil {
		c.Forget = append(slices.Clip(c.Forget), c.Env.Released)
	}
	return m.State.Commit(ctx, env, c)
}

func storeMutants() []mutant {
	files := func(name, why, check string, within uint64,
		wrap func(state.Files) state.Files) mutant {
		return mutant{Mutant{Name: name, Why: why, Check: check,
			Config: func(c *deploy.Config, _ *State) { c.Files = wrap(c.Files) }}, within}
	}
	return []mutant{
		files("VersionVisibleBeforeItsFiles", "a file that is said to be stored is not", "", 20,
			func(f state.Files) state.Files { return &losesFiles{f} }),
		stateMutant("EqualExportMakesVersion",
			"an export that is equal to the last makes a version", "V1", 50,
			func(to state.State, _ *State) state.State { return &forgetsDigest{to} }),
		mutant{Mutant{Name: "SecretInIntent", Why: "the value of a secret gets into what is stored",
			Check: "S1", Config: func(c *deploy.Config, _ *State) {
				c.Secrets = leaks{c.Secrets}
			}}, 100},
		commits("EventsForgotten", "that something changed is not stored", "D4", 3000,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].ChangedAt = time.Time{}
				}
			}, nil),
		commits("CausesForgotten", "why something was skipped is not stored", "", 1000,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].Causes = nil
				}
			}, nil),
		commits("IntentCountsAsRun", "a new intent counts as that of the last run", "D5", 100,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					if r := &c.Rows[i]; c.Plan && r.Ran != "" {
						r.Ran = r.Hash
					}
				}
			}, nil),
		commits("RemovedStays", "the row of what was purged stays", "", 1000,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].Gone = false
				}
			}, nil),
		commits("IntentByWorker", "a worker changes the schedule of a resource that it has run",
			"D5", 50, func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					if c.Guard.Key != planKey && c.Rows[i].Rev > 0 {
						c.Rows[i].Priority++
					}
				}
			}, nil),
		commits("MovedRunsTwice", "the earlier ids of a moved thing are not stored", "", 300,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].Earlier = nil
				}
			}, nil).in("labels"),
	}
}

// losesFiles stores nothing.
type losesFiles struct{ state.Files }

func (m *losesFiles) Put(_ context.Context, blobs []state.Blob) error {
	if len(blobs) > 1 {
		return m.Files.Put(context.Background(), blobs[1:])
	}
	return nil
}

type forgetsDigest struct{ state.State }

func (m *forgetsDigest) Versions(
	ctx context.Context, env string, numbers ...int,
) ([]state.Version, error) {
	vs, err := m.State.Versions(ctx, env, numbers...)
	for i := range vs {
		vs[i].Digest = ""
	}
	return vs, err
}

// leaks gives the value of a secret for its version.
type leaks struct{ state.Secrets }

func (m leaks) Resolve(ctx context.Context, s resource.Secret) (value, version string, err error) {
	value, _, err = m.Secrets.Resolve(ctx, s)
	return value, value, err
}

func timerMutants() []mutant {
	return []mutant{
		commits("RetryForgotten", "when a failure is to be tried again is not stored", "D7", 300,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					c.Rows[i].NextAt = time.Time{}
				}
			}, nil),
		commits("TerminalRetried", "what failed for good is tried again", "D7", 1000,
			func(c *state.Commit, s *State) {
				for i := range c.Rows {
					if r := &c.Rows[i]; r.LastRun == state.RunFailed &&
						r.Class == state.ClassTerminal && !r.LastAt.IsZero() {
						r.NextAt = r.LastAt.Add(time.Second)
					}
				}
			}, nil),
		stateMutant("TimersNeverDue", "rows whose time has come are not found", "D4", 500,
			func(to state.State, _ *State) state.State { return &neverDue{to} }),
		commits("InProgressForgotten", "an operation that is in progress counts as done", "", 1000,
			func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					if r := &c.Rows[i]; !r.NotBefore.IsZero() {
						r.NotBefore, r.LastRun, r.Compliance, r.Deployed = time.Time{},
							state.RunSuccess, state.Compliant, r.Hash
						r.Observed, r.RunAgain = r.Generation, false
					}
				}
			}, nil),
	}
}

type neverDue struct{ state.State }

func (m *neverDue) Due(context.Context, string, time.Time, int) ([]resource.ID, time.Time, error) {
	return nil, time.Time{}, nil
}

func messageMutants() []mutant {
	return []mutant{
		{Mutant{Name: "RepeatedNoticeSwallowed",
			Why: "a message like one before is taken for a double", Check: "late",
			Config: func(c *deploy.Config, _ *State) {
				c.Notifier = &swallows{c.Notifier, map[string]bool{}}
			}}, 300},
		{Mutant{Name: "HintTakenForTruth", Why: "what a message names counts as finished, unseen",
			Check: "", Config: func(c *deploy.Config, _ *State) {
				c.State = &believes{c.State}
			}}, 60000},
		{Mutant{Name: "BusyTakenForFault",
			Why: "a lease that is held counts as free for readers of errors", Check: "errors",
			Config: func(c *deploy.Config, _ *State) {
				c.State = &busyIsDamage{c.State}
			}}, 100},
	}
}

// swallows delivers the first message of a lane only.
type swallows struct {
	state.Notifier
	seen map[string]bool
}

func (m *swallows) Notify(ctx context.Context, env string, notices []state.Notice) error {
	var out []state.Notice
	for _, r := range notices {
		if !m.seen[r.Agent] {
			m.seen[r.Agent] = true
			out = append(out, r)
		}
	}
	return m.Notifier.Notify(ctx, env, out)
}

// believes answers that all that is asked about has finished.
type believes struct{ state.State }

func (m *believes) Finished(
	_ context.Context, _ string, ids []resource.ID, _ int64,
) ([]resource.ID, error) {
	return ids, nil
}

// busyIsDamage gives a lease that is held another kind of error.
type busyIsDamage struct{ state.State }

func (m *busyIsDamage) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	l, err := m.State.Acquire(ctx, env, key, holder, now, until)
	if fault.Is(err, fault.Busy) {
		err = fault.New(fault.Damaged, "take lease", "it is held")
	}
	return l, err
}
