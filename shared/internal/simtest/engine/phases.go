package engine

import (
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// checkRest ends all faults and checks the final state: first without intervention, then after a
// retry of failed resources, and last after a check of everything.
func checkRest(r *run) {
	healAll(r)
	for _, phase := range []struct {
		name  string
		ask   func(t *task, e *deploy.Engine) error
		check func(r *run)
	}{
		{"by itself", nil, checkRows},
		{"after a deploy that retries", func(t *task, e *deploy.Engine) error {
			_, err := e.Deploy(taskContext{t}, env, deploy.Request{RetryFailed: true})
			return err
		}, checkDeployed},
		{"after a repair", func(t *task, e *deploy.Engine) error {
			_, err := e.Repair(taskContext{t}, env, deploy.Request{})
			return err
		}, checkDeployed},
	} {
		if r.violation != nil {
			return
		}
		r.tracef("--- what is left, %s", phase.name)
		if phase.ask != nil {
			prompt := phase.name == "after a repair" && endsPromptly(r)
			if phase.name == "after a repair" {
				forgetDrift(r)
			}
			p := r.process()
			r.task(p, "ask", func(t *task) error { return phase.ask(t, p.engine) })
			if finishUp(r); prompt && r.violation == nil {
				checkPrompt(r)
			}
		}
		if !comesToRest(r) {
			return
		}
		checkRows(r)
		checkKeptAtRest(r)
		phase.check(r)
		if phase.ask == nil && r.violation == nil {
			restDryRun(r)
		}
	}
	for _, rest := range []func(r *run) bool{restDecided, restUnfinished, restTimer,
		restCollected} {
		if r.violation != nil || !rest(r) {
			return
		}
	}
}

// endsPromptly reports whether a check of everything must end without a sweep. This is the case if
// every message reaches the worker of its lane, all resources are as intended, and there is no
// drift.
func endsPromptly(r *run) bool {
	p := r.plan
	if p.Procs != 1 || !p.Await || !p.Dead || p.Functions != nil || p.laneFor <= time.Second {
		return false
	}
	for id, row := range r.state.read(env).rows {
		if t := r.world.thing(id); !row.Orphaned &&
			(!asWanted(row) || row.Block() != state.NotBlocked || row.WantFacts() || t.drifted ||
				t.broken != "") {
			return false
		}
	}
	return true
}

// checkPrompt checks that no resource that could run waits for a sweep.
func checkPrompt(r *run) {
	e, eff := r.state.read(env), r.books.effect
	if eff == nil {
		return
	}
	scheduled := scheduledIn(r, e)
	for i, id := range eff.ids {
		row := e.rows[id]
		if scheduled&(1<<i) != 0 && scheduled&eff.all[i] == 0 && row.Current().NotBefore.IsZero() {
			r.violate("D4",
				"%s could run (%s, ticket %d), every message has arrived, and nobody runs it", id,
				row.Status(), row.Ticket())
		}
	}
	for id := range e.outbox {
		r.violate("D4", "%s is to follow, nothing has failed, and nobody does it", id)
	}
}

// allFree reports whether no lease is held, not even by a dead holder, whose death not every home
// can detect.
func allFree(r *run) bool {
	for _, l := range r.state.read(env).leases {
		if l.Holder != "" && r.time().Before(l.Until) {
			return false
		}
	}
	return true
}

// checkLate checks that nothing waits for another sweep. It is called after a sweep has notified
// all lanes with work, when no message is lost and no time has to pass.
func checkLate(r *run) {
	e, eff := r.state.read(env), r.books.effect
	if eff == nil {
		return
	}
	scheduled := scheduledIn(r, e)
	for i, id := range eff.ids {
		row := e.rows[id]
		if scheduled&(1<<i) != 0 && scheduled&eff.all[i] == 0 && row.Current().NotBefore.IsZero() &&
			len(row.EarlierAgents()) == 0 && !r.books.mayStillWait(id, scheduled) {
			traceRest(r)
			r.violate("late", "%s could run (%s, ticket %d), and would not without a sweep", id,
				row.Status(), row.Ticket())
		}
	}
	for id := range e.outbox {
		r.violate("late", "%s is to follow, and would not without a sweep", id)
	}
}

// mayStillWait reports whether the removal of a resource may wait for a resource that was added
// again. The planner may have read the latter while it was still being removed (seed 1030180526).
func (b *books) mayStillWait(id resource.ID, scheduled uint64) bool {
	for q := range b.mayWait[id] {
		if i, there := b.effect.index[q]; there && scheduled&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// restDecided simulates a user who checks the results of creates that cannot be looked up, and
// decides.
func restDecided(r *run) bool {
	e := r.state.read(env)
	var ids []resource.ID
	for _, id := range e.ids {
		if row := e.rows[id]; row.Block() == state.NeedsDecision && !row.Orphaned {
			ids = append(ids, id)
			t := r.world.thing(id) // the user removes objects that the engine does not know
			t.made = slices.DeleteFunc(t.made, func(m *copyOf) bool { return !m.seen })
		}
	}
	if len(ids) == 0 {
		return true
	}
	r.tracef("--- what is left, after a person has decided")
	p := r.process()
	r.task(p, "ask", func(t *task) error {
		for _, id := range ids {
			if _, err := p.engine.Deploy(taskContext{t}, env,
				deploy.Request{Filter: state.Filter{ID: string(id)},
					RetryFailed: true}); err != nil {
				return err
			}
		}
		return nil
	})
	if !comesToRest(r) {
		return false
	}
	for _, id := range ids {
		if row := e.rows[id]; row != nil && row.Block() == state.NeedsDecision &&
			r.world.thing(id).broken == "" {
			r.violate("D8", "%s asks a person, who has decided", id)
		}
	}
	checkRows(r)
	checkKeptAtRest(r)
	checkDeployed(r)
	return r.violation == nil
}

// restUnfinished lets the deploy timer request resources that are not as intended.
func restUnfinished(r *run) bool {
	e := r.state.read(env)
	if r.plan.Settings.DeployTimer == "0" || e.env.Settings != r.plan.Settings ||
		r.books.released == nil {
		return true
	}
	last := map[resource.ID]time.Time{}
	for _, id := range e.ids {
		if row := e.rows[id]; fingerprintOf(r, id).rev != 0 && !asWanted(row) && !forGood(row) {
			last[id] = row.LastAt
		}
	}
	if len(last) == 0 {
		return true
	}
	r.tracef("--- what is left, after the deploy timer")
	r.sched.now += 31 * time.Second
	if !comesToRest(r) {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		if row := e.rows[id]; row != nil && fingerprintOf(r, id).rev != 0 &&
			!row.LastAt.After(last[id]) {
			r.violate("timer", "%s is %s, and the deploy timer does not ask for it", id,
				row.Status())
		}
	}
	return r.violation == nil
}

// restTimer lets the repair timer find drift.
func restTimer(r *run) bool {
	e := r.state.read(env)
	if r.plan.Settings.RepairTimer == "0" || e.env.Settings != r.plan.Settings ||
		r.books.released == nil {
		return true
	}
	r.tracef("--- what is left, after the repair timer")
	for _, id := range e.ids {
		row, it, t := e.rows[id], r.books.released.entries[id], r.world.thing(id)
		if it != nil && id.Type() == typeThing && asWanted(row) &&
			row.Block() == state.NotBlocked && !it.res.Purged && !it.res.ReportOnly &&
			t.broken == "" {
			t.v += 100
		}
	}
	r.sched.now += 2*time.Minute + time.Second
	if !comesToRest(r) {
		return false
	}
	checkRows(r)
	checkKeptAtRest(r)
	checkDeployed(r)
	return r.violation == nil
}

// healAll ends all faults, pauses and halts.
func healAll(r *run) {
	r.faulty, r.healed = false, forever
	r.tracef("--- the world heals")
	for _, t := range r.world.things {
		if !t.forGood {
			t.broken, t.skips, t.unread = "", false, false
		}
	}
	for i, p := range r.procs {
		if p == nil {
			r.procs[i] = r.newProcess()
		}
	}
	pollAll(r)
	finishUp(r) // completes running work
	r.healed = r.sched.now
	p := r.process()
	r.task(p, "resume", func(t *task) error {
		for agent, paused := range r.books.paused {
			if paused {
				if err := p.engine.Pause(taskContext{t}, env, false, agent); err != nil {
					return err
				}
			}
		}
		if r.books.halted {
			return p.engine.Halt(taskContext{t}, env, false)
		}
		return nil
	})
	finishUp(r)
}

// finishUp runs until no task and no message is left.
func finishUp(r *run) {
	r.sched.steps, r.sched.calls = 0, 0
	if !r.sched.run(forever - 1) {
		r.violate("D4", "the run does not come to an end: %d steps and it goes on", maxSteps)
	}
}

// forgetDrift clears the drift marks, since a check of everything corrects all drift.
func forgetDrift(r *run) {
	e := r.state.read(env)
	for id, t := range r.world.things {
		if row := e.rows[id]; row != nil && !row.Orphaned { // other objects are not managed
			t.drifted = false
		}
	}
}

// comesToRest sweeps until no resource is scheduled. If that does not happen, it reports a
// violation of D4 and returns false.
func comesToRest(r *run) bool {
	const limit = 100 // the most demanding seeds need a dozen
	free := false
	for range limit {
		finishUp(r)
		if free {
			checkLate(r)
		}
		if r.violation != nil {
			return false
		}
		// the maximum that one sweep processes
		free = allFree(r) && len(r.state.read(env).outbox) <= r.plan.sizes.Sweep
		sweepAll(r, r.process())
		finishUp(r)
		if r.violation != nil {
			return false
		}
		wait, quiet := isQuiet(r)
		if quiet {
			return true
		}
		r.sched.now += wait
	}
	e := r.state.read(env)
	traceRest(r)
	for _, id := range e.ids {
		if row := e.rows[id]; row.Ticket() != 0 || !row.Timer().IsZero() || inWave(r, e, row) {
			r.violate("D4",
				"after %d sweeps %s is still scheduled (%s, ticket %d, not before %s, next %s)",
				limit, id, row.Status(), row.Ticket(), row.Current().NotBefore, row.Timer())
			return false
		}
	}
	r.violate("D4",
		"after %d sweeps something is still to be done: %d entries of the outbox, release of %d",
		limit, len(e.outbox), e.env.Releasing)
	return false
}

// traceRest traces the remaining work.
func traceRest(r *run) {
	e := r.state.read(env)
	for key, l := range e.leases {
		checked := []resource.ID(nil)
		if c := e.checks[key]; c != nil {
			checked = c.ids
		}
		r.tracef("lease %q: wave %d, holder %q, checked %v", key, l.Wave, l.Holder, checked)
	}
	for _, id := range e.ids {
		row := e.rows[id]
		r.tracef("%s: %s, ticket %d, lane %s, wave %d of %d, not before %s, next %s", id,
			row.Status(), row.Ticket(), row.Agent, row.Checked, e.env.Wave.Epoch, row.Current().NotBefore,
			row.Timer())
	}
}

// isQuiet reports whether no work is scheduled. Otherwise it returns the time to wait before the
// next sweep.
func isQuiet(r *run) (time.Duration, bool) {
	e := r.state.read(env)
	busy, first := len(e.outbox) > 0 || e.env.Releasing != 0, time.Duration(0)
	next := func(at time.Time) {
		if d := max(at.Sub(r.time()), 0) + time.Millisecond; first == 0 || d < first {
			first = d
		}
	}
	timed := false
	for _, id := range e.ids {
		row := e.rows[id]
		switch {
		case row.Ticket() != 0 && row.Current().NotBefore.After(r.time()):
			timed = true
			next(row.Current().NotBefore)
		case row.Ticket() != 0 || inWave(r, e, row):
			busy = true
		case !row.Timer().IsZero():
			timed = true
			next(row.Timer())
		}
	}
	busy = busy || e.waving()
	switch {
	case !busy && !timed:
		return 0, true
	case busy && (first == 0 || first > 20*time.Second):
		return 20 * time.Second, false
	}
	return first, false
}
