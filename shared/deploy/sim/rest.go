package sim

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// checkRest lets the world heal and checks what becomes of everything: first by itself, then after a person has asked for what failed, and last
// after a check of everything.
func (r *run) checkRest() {
	r.heal()
	for _, phase := range []struct {
		name  string
		ask   func(t *task, e *deploy.Engine) error
		check func()
	}{
		{"by itself", nil, r.checkRows},
		{"after a deploy that retries", func(t *task, e *deploy.Engine) error {
			_, err := e.Deploy(taskContext{t}, env, deploy.Request{RetryFailed: true})
			return err
		}, r.checkDeployed},
		{"after a repair", func(t *task, e *deploy.Engine) error {
			_, err := e.Repair(taskContext{t}, env, deploy.Request{})
			return err
		}, r.checkDeployed},
	} {
		if r.violation != nil {
			return
		}
		r.tracef("--- what is left, %s", phase.name)
		if phase.ask != nil {
			if phase.name == "after a repair" {
				r.forgetDrift()
			}
			p := r.process()
			r.task(p, "ask", func(t *task) error { return phase.ask(t, p.engine) })
		}
		if !r.rest() {
			return
		}
		r.checkRows()
		phase.check()
	}
}

// heal ends all faults and all that a person or the world had stopped.
func (r *run) heal() {
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
	r.lookAll()
	r.finish() // what was under way
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
	r.finish()
}

// finish runs until no task and no message is left.
func (r *run) finish() {
	r.sched.steps = 0
	if !r.sched.run(forever - 1) {
		r.violate("D4", "the run does not come to an end: %d steps and it goes on", mostSteps)
	}
}

// forgetDrift: a check of everything puts right what somebody else has changed.
func (r *run) forgetDrift() {
	e := r.state.look(env)
	for id, t := range r.world.things {
		if row := e.rows[id]; row != nil && !row.Orphaned { // of others nobody takes care
			t.drifted = false
		}
	}
}

// rest sweeps until nothing is scheduled any more. It returns false when that does not happen, which is a violation of D4.
func (r *run) rest() bool {
	const most = 400
	for range most {
		r.finish()
		if r.violation != nil {
			return false
		}
		r.sweep(r.process())
		r.finish()
		if r.violation != nil {
			return false
		}
		wait, quiet := r.quiet()
		if quiet {
			return true
		}
		r.sched.now += wait
	}
	e := r.state.look(env)
	for key, l := range e.leases {
		checked := []resource.ID(nil)
		if c := e.checks[key]; c != nil {
			checked = c.ids
		}
		r.tracef("lane %s: wave %d, holder %q, checked %v", key, l.Wave, l.Holder, checked)
	}
	for _, id := range e.ids {
		row := e.rows[id]
		r.tracef("%s: %s, ticket %d, lane %s, wave %d of %d, not before %s, next %s", id, row.Status(), row.Ticket, row.Lane, row.Checked, e.env.Wave.Epoch, row.NotBefore, row.NextAt)
	}
	for _, id := range e.ids {
		if row := e.rows[id]; row.Ticket != 0 || !row.NextAt.IsZero() || r.inWave(e, row) {
			r.violate("D4", "after %d sweeps %s is still scheduled (%s, ticket %d, not before %s, next %s)", most, id, row.Status(), row.Ticket, row.NotBefore, row.NextAt)
			return false
		}
	}
	r.violate("D4", "after %d sweeps something is still to be done: %d entries of the outbox, release of %d", most, len(e.outbox), e.env.Releasing)
	return false
}

// quiet reports whether nothing is scheduled, and else how long to wait before the next sweep.
func (r *run) quiet() (time.Duration, bool) {
	e := r.state.look(env)
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
		case row.Ticket != 0 && row.NotBefore.After(r.time()):
			timed = true
			next(row.NotBefore)
		case row.Ticket != 0 || r.inWave(e, row):
			busy = true
		case !row.NextAt.IsZero():
			timed = true
			next(row.NextAt)
		}
	}
	for _, id := range e.ids {
		busy = busy || e.waveLeft(e.rows[id].Lane)
	}
	switch {
	case !busy && !timed:
		return 0, true
	case busy && (first == 0 || first > 20*time.Second):
		return 20 * time.Second, false
	}
	return first, false
}

// checkRows checks that every resource has ended, with its reason: invariants D4 and D6.
func (r *run) checkRows() {
	e, eff := r.state.look(env), r.books.effect
	if eff == nil {
		return
	}
	for i, id := range eff.ids {
		row, it := e.rows[id], r.books.released.entries[id]
		switch {
		case row == nil && it == nil: // removed
			continue
		case row == nil:
			r.violate("D4", "%s is in version %d and has no state", id, r.books.released.number)
		case it == nil:
			r.checkRemoving(row, i)
		case row.Orphaned || row.Removing:
			r.violate("D4", "%s is in version %d and counts as having left it", id, r.books.released.number)
		case len(resource.References(it.res.Attributes)) == 0 && row.Hash != it.hash:
			r.violate("D5", "%s is to be %s and its row says %s", id, it.hash, row.Hash)
		default:
			r.checkRow(row, i)
		}
		if r.violation != nil {
			return
		}
	}
	for _, id := range e.ids {
		if _, known := eff.index[id]; !known && !e.rows[id].Orphaned && len(eff.ids) < mostNodes {
			r.violate("D4", "%s left the model and is neither orphaned nor removed (%s)", id, e.rows[id].Status())
		}
	}
}

func (r *run) checkRemoving(row *deploy.Row, i int) {
	switch {
	case !row.Removing:
		r.violate("D4", "%s left the model, which says that it is to be purged, and is not being removed", row.ID)
	case row.LastRun == deploy.RunFailed, row.LastRun == deploy.RunSkipped, row.Blocked == deploy.BlockedYes:
		r.checkRow(row, i)
	default:
		r.violate("D4", "%s left the model, is to be purged and waits for nothing", row.ID)
	}
}

// checkRow checks one row at rest.
func (r *run) checkRow(row *deploy.Row, i int) {
	undefined := r.lacking(i)
	switch status := row.Status(); {
	case row.Compliance == deploy.Undefined:
		r.checkUndefined(row)
	case undefined != "" && row.Blocked != deploy.BlockedYes:
		r.violate("D6", "%s requires %s, of which something is not known, and is %s", row.ID, undefined, status)
	case row.Removing && row.Blocked != deploy.NotBlocked && r.waitsForNamesake(row):
	case row.Blocked == deploy.BlockedYes && undefined == "":
		r.violate("D6", "%s stays blocked, and all it requires is known", row.ID)
	case row.Blocked == deploy.BlockedYes:
	case row.Blocked == deploy.NeedsPerson && row.ID.Type() != typeLonely:
		r.violate("D8", "%s asks a person, although what a create led to can be looked up", row.ID)
	case row.Blocked == deploy.BlockedTemp:
		r.checkSkipped(row, i)
	case status == deploy.StatusDeployed, status == deploy.StatusNonCompliant:
	case row.LastRun == deploy.RunFailed && (row.Class == provider.Terminal || row.Class == provider.NeedsChange || row.Blocked == deploy.NeedsPerson):
	default:
		r.violate("D4", "%s is %s (last run %s, %s), is not scheduled, and no timer asks for it", row.ID, status, row.LastRun, row.Class)
	}
}

// waitsForNamesake reports whether something that is being removed waits for one that was removed and has come back while the version was
// planned: to wait for the new one, too, is cautious and no fault.
func (r *run) waitsForNamesake(row *deploy.Row) bool {
	e := r.state.look(env)
	return slices.ContainsFunc(row.Causes, func(id resource.ID) bool {
		c := e.rows[id]
		return c != nil && r.books.released.entries[id] != nil && !asWanted(c)
	})
}

// lacking returns what a node requires, directly or not, of which something is not known.
func (r *run) lacking(i int) resource.ID {
	e, eff := r.state.look(env), r.books.effect
	for j, id := range eff.ids {
		if row := e.rows[id]; eff.all[i]&(1<<j) != 0 && row != nil && row.Compliance == deploy.Undefined && !row.Orphaned {
			return id
		}
	}
	return ""
}

// checkUndefined checks that something is in fact not known.
func (r *run) checkUndefined(row *deploy.Row) {
	e := r.state.look(env)
	res, err := resource.Decode(row.Body)
	if err != nil {
		r.violate("V1", "what %s wants does not decode: %v", row.ID, err)
		return
	}
	for _, ref := range resource.References(res.Attributes) {
		key := deploy.ParameterKey{}
		switch f := ref.(type) {
		case resource.Parameter:
			key.Name = f.Name
		case resource.Fact:
			key.Name, key.Of = f.Name, f.Of
			if of := e.rows[f.Of]; of != nil && asWanted(of) && !of.Orphaned && !strings.Contains(string(of.Body), `"purged":true`) {
				if _, known := e.parameters[key]; !known {
					r.violate("D4", "%s waits for fact %q of %s, which is deployed and was never asked", row.ID, f.Name, f.Of)
				}
			}
		default:
			continue
		}
		if _, known := e.parameters[key]; !known {
			return
		}
	}
	r.violate("D4", "%s counts as undefined, and all its references are known", row.ID)
}

// checkSkipped is invariant D6: what is skipped names a root cause, and something it requires is in fact not deployed.
func (r *run) checkSkipped(row *deploy.Row, i int) {
	e, eff := r.state.look(env), r.books.effect
	if r.unready(e, i, 0) == "" {
		r.violate("D6", "%s stays skipped (for %v), and all it requires is deployed", row.ID, row.Causes)
	}
	if len(row.Causes) == 0 {
		r.violate("D6", "%s is skipped and names no cause", row.ID)
	}
	if !slices.ContainsFunc(row.Causes, func(id resource.ID) bool {
		c := e.rows[id]
		j, known := eff.index[id]
		return c != nil && !asWanted(c) && known && eff.all[i]&(1<<j) != 0
	}) {
		r.violate("D6", "%s is skipped because of %v, none of which is a requirement that is not deployed", row.ID, row.Causes)
	}
}

// checkDeployed compares the world with what is released.
func (r *run) checkDeployed() {
	e, eff := r.state.look(env), r.books.effect
	if eff == nil {
		return
	}
	for _, id := range eff.ids {
		row, it := e.rows[id], r.books.released.entries[id]
		t := r.world.thing(id)
		t.settle(r.sched.now)
		switch {
		case row == nil && it == nil:
			if n := t.countable(); n > 0 && !t.drifted {
				r.violate("D4", "%s was removed and is there", id)
			}
		case row == nil || it == nil || it.res.ReportOnly || row.Blocked == deploy.BlockedYes:
		case asWanted(row):
			r.checkThing(row, t)
		case row.LastRun == deploy.RunFailed:
			r.checkFailed(row, t)
		}
		if r.violation != nil {
			return
		}
	}
}

// countable returns how many things there are that a handler could know of.
func (t *thing) countable() int {
	n := 0 // what somebody made who had lost the lane is known to nobody
	if t.exists || t.pending != nil {
		n = 1
	}
	for _, m := range t.made {
		if m.seen && !m.late {
			n++
		}
	}
	return n
}

func (r *run) checkThing(row *deploy.Row, t *thing) {
	if t.drifted {
		return
	}
	want, purged := r.wanted(row)
	have, exists := t.observe(r.sched.now)
	switch {
	case t.pending != nil:
		r.violate("D4", "%s counts as deployed while its operation is under way", row.ID)
	case purged && t.countable() > 0:
		r.violate("D4", "%s counts as purged and is there", row.ID)
	case purged:
	case !exists:
		r.violate("D4", "%s counts as deployed and is not there", row.ID)
	case !have.fits(want):
		r.violate("D4", "%s counts as deployed and is %+v, not %+v", row.ID, have, want)
	case isAssigned(row.ID) && t.countable() > 1:
		r.violate("D8", "%s is there %d times", row.ID, t.countable())
	}
	if o, owes := r.books.events[row.ID]; owes && !purged {
		r.violate("D4", "%s was not reloaded although %s, which it requires, changed at %s", row.ID, o.by, o.at)
	}
}

// fits reports whether a thing is as wanted; what is not said is not compared.
func (p parts) fits(want parts) bool {
	return p.v == want.v && (want.text == "" || p.text == want.text) && (want.fixed == 0 || p.fixed == want.fixed)
}

// checkFailed checks that what has failed after everything was mended and tried again has a reason that is left.
func (r *run) checkFailed(row *deploy.Row, t *thing) {
	want, _ := r.wanted(row)
	have, exists := t.observe(r.sched.now)
	switch {
	case t.broken != "":
	case row.Blocked == deploy.NeedsPerson:
	case exists && want.fixed != 0 && have.fixed != want.fixed && row.Class == provider.NeedsChange:
	default:
		r.violate("D7", "%s failed (%s: %s), and nothing is wrong with it", row.ID, row.Class, row.Reason)
	}
}
