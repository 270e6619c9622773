package engine

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// checkMeanwhile checks that a result keeps requests and blocks that were added since the claim of
// its run, since the run does not satisfy them.
func checkMeanwhile(r *run, t *task, row, was *state.Row) {
	claimed, known := t.books.claims[row.ID]
	switch {
	case was.Block() == state.BlockedYes && row.Block() != state.BlockedYes:
		r.violate("D6", "%s lets %s run again, which was blocked while it ran", t.name, row.ID)
	case was.Agent != t.books.lane && row.Checked != was.Checked:
		r.violate("D4", "%s counts %s as checked in a lane that it was moved to while it ran",
			t.name, row.ID)
	case !known || row.Block() == state.BlockedYes:
	case was.Ticket() != claimed.ticket && was.Ticket() != 0 && row.Ticket() != was.Ticket():
		r.violate("D4", "%s forgets that %s was asked for (ticket %d) while it ran (ticket %d)",
			t.name, row.ID, was.Ticket(), claimed.ticket)
	case was.WantFacts() && !claimed.facts && !row.WantFacts():
		r.violate("D4", "%s forgets that facts of %s were asked for while it ran", t.name, row.ID)
	}
}

// checkFollowed checks which changes a successful run is recorded as having followed. It must not
// include changes that the run may not have seen. It must include all changes that preceded it in
// the same claim.
func checkFollowed(r *run, t *task, row, was *state.Row, started time.Time) {
	claimed, known := t.books.claims[row.ID]
	if !known || row.SucceededAt.Equal(was.SucceededAt) {
		return
	}
	switch at := row.SucceededAt; {
	case t.books.compares[row.ID]:
		r.violate("D4", "%s was only compared, and counts as having followed changes", row.ID)
	case at.After(started) || claimed.first && at.After(claimed.at):
		r.violate("D4",
			"%s counts as having followed changes until %s, and was claimed at %s (started at %s)",
			row.ID, r.since(at), r.since(claimed.at), r.since(started))
	case requiresMore(was.Body, []byte(claimed.body)):
		r.violate("D4",
			"%s counts as having followed changes of what it did not require when it was claimed",
			row.ID)
	case claimed.behind && !row.Removing && at.Before(started):
		r.violate("C1", "%s counts as not having followed what ran before it in the same claim",
			row.ID)
	}
}

// checkUnwritten checks that a successful run whose row is not written requires no change of the
// row.
func checkUnwritten(r *run, t *task, c *state.Commit) {
	for i := range c.Actions {
		a := &c.Actions[i]
		claimed, known := t.books.claims[a.Resource]
		row := r.state.read(env).rows[a.Resource]
		// A row that was forgotten and created again may have the same revision, but not the same
		// ticket.
		if !known || row == nil || row.Rev != claimed.rev || row.Ticket() != claimed.ticket ||
			a.Stale || a.Outcome != state.StatusDeployed || a.Action == state.ActionDryRun ||
			row.LastAction == a.ID {
			continue
		}
		if a.Change != diff.NoChange || !clean(row) {
			r.violate(
				"D4",
				"the outcome of a run of %s is not written: its row is %s (possibly changed: %v, "+
					"create: %q, %d attempts)",
				a.Resource,
				row.Status(),
				row.PossiblyChanged,
				row.Creating,
				row.Attempts,
			)
		}
	}
}

// checkNotified checks that a resource that notifies dependants reports a change, or a possible
// change, by a run. A successful run reports it immediately; otherwise the next successful run
// does.
func checkNotified(r *run, t *task, row, was *state.Row, c *state.Commit) {
	i := slices.IndexFunc(c.Actions, func(a state.Action) bool { return a.ID == row.LastAction })
	if have := t.books.runs[row.ID]; i >= 0 && have != nil && tellsOthers(r, row.ID) {
		a := &c.Actions[i]
		deployed := a.Outcome == state.StatusDeployed
		switch changed := a.Change != diff.NoChange || was.PossiblyChanged ||
			t.books.lost[row.ID]; {
		case deployed && changed && (!row.ChangedAt.Equal(row.LastAt) || row.PossiblyChanged):
			r.violate("D4",
				"%s has changed, or may have, in a run of %s that ended well, and does not tell",
				row.ID, t.name)
		case !deployed && have.acted && !row.PossiblyChanged:
			r.violate("D4",
				"%s may have been changed by a run of %s that did not end well, and that is not "+
					"noted", row.ID, t.name)
		}
	}
}

// lostElsewhere reports whether a run of a row in its former lane has ended without a record.
func lostElsewhere(r *run, t *task, e *environment, row *state.Row) bool {
	for _, key := range row.EarlierAgents() {
		if l := e.leases[key]; l != nil && key != t.books.lane && l.Holder != "" &&
			!r.time().Before(l.Until) && slices.Contains(l.Running, row.ID) {
			return true
		}
	}
	return false
}

// checkReplaced checks a row whose intent a planner replaces or removes: invariants D4 and D5.
func checkReplaced(r *run, t *task, row, was *state.Row) {
	if row.Orphaned && (row.Ticket() != 0 || !row.Timer().IsZero()) {
		r.violate("orphan",
			"%s leaves the model, and is asked for (ticket %d), or will be by a timer", row.ID,
			row.Ticket())
	}
	if row.Hash == was.Hash || strings.HasPrefix(row.Hash, "purge ") {
		return
	}
	switch {
	case row.Ran == row.Hash: // the last run had this intent, which is back
	case row.Block() == state.BlockedTemp:
		r.violate("D5", "%s gives %s a new intent, which counts as skipped before it has run",
			t.name, row.ID)
	case !row.Current().NotBefore.IsZero() || row.Current().Waiting != nil:
		r.violate("D5",
			"%s gives %s a new intent, which waits for what was begun for the one before", t.name,
			row.ID)
	case row.PossiblyChanged && !was.PossiblyChanged && len(row.EarlierIDs()) == 0:
		r.violate("C1", "%s gives %s a new intent, and counts that as a change", t.name, row.ID)
	}
}

// checkStaleTold checks that a resource that notifies dependants records a possible change by a
// stale run, since no other run reports it.
func checkStaleTold(r *run, t *task, c *state.Commit, out *state.Committed) {
	for i := range c.Actions {
		a := &c.Actions[i]
		row, have := r.state.read(env).rows[a.Resource], t.books.runs[a.Resource]
		again := func(x state.Row) bool { return x.ID == a.Resource }
		if !a.Stale || have == nil || !have.acted || row == nil || row.Orphaned ||
			row.LastAction > a.ID || slices.ContainsFunc(out.Conflicts, again) {
			continue
		}
		if tellsOthers(r, row.ID) && !row.PossiblyChanged {
			r.violate("D4", "%s has changed %s in a run that does not count, and nobody will tell "+
				"of that", t.name, row.ID)
		}
	}
}

// checkMoved checks a row whose intent a planner keeps, with different requirements or a different
// lane.
func checkMoved(r *run, t *task, row, was *state.Row) {
	e := r.state.read(env)
	if row.Hash != was.Hash || row.Orphaned || was.Orphaned || row.Comparison() == state.Undefined ||
		row.Block() == state.BlockedYes || row.Block() == state.NeedsDecision {
		return
	}
	switch {
	case string(row.Body) != string(was.Body) && was.Ticket() != 0 && row.Ticket() == was.Ticket():
		r.violate("D1",
			"%s gives %s other requirements, and a run that has begun counts as if it had waited "+
				"for them", t.name, row.ID)
	case row.Agent != was.Agent && row.Ticket() == 0 && inWave(r, e, was) && !inWave(r, e, row):
		r.violate("D4",
			"%s moves %s, which a check of everything still asks for, to where that is over",
			t.name, row.ID)
	}
	asked := row.Ticket() != 0 && was.Ticket() == 0 && asWanted(was) &&
		was.Block() == state.NotBlocked && !row.WantFacts() && row.Agent == was.Agent
	if t.books.plain && asked && !t.books.waving && string(row.Body) != string(was.Body) &&
		!requiresMore(row.Body, was.Body) {
		r.violate("C1", "%s schedules %s, which is deployed and requires nothing new", t.name,
			row.ID)
	}
}

// requiresMore reports whether an intent that receives changes has requirements or subscriptions
// that another intent lacks.
func requiresMore(now, was []byte) bool {
	a, err := resource.Decode(now)
	b, err2 := resource.Decode(was)
	if err != nil || err2 != nil {
		return true
	}
	more := func(now, was []resource.ID) bool {
		return slices.ContainsFunc(now,
			func(id resource.ID) bool { return !slices.Contains(was, id) })
	}
	return a.ReceiveEvents &&
		(more(a.Requires, b.Requires) || more(a.Subscriptions, b.Subscriptions))
}

// checkTimed checks the requests of timers other than retries. A timer requests nothing if it is
// off or the environment is halted, and it records the time of its request.
func checkTimed(r *run, t *task, row, was *state.Row, c *state.Commit, b before) {
	if row.Priority != state.PriorityDeployTimer || row.Ticket() == 0 || was.Ticket() != 0 ||
		b.env.Releasing != 0 {
		return
	}
	switch off := r.plan.Settings.DeployTimer == "0" && knowsSettings(r, t); {
	case r.books.halted && r.books.haltedAt < t.began:
		r.violate("timer", "%s asks for %s by a timer, and everything is halted", t.name, row.ID)
	case !was.Timer().IsZero():
	case off:
		r.violate("timer", "%s asks for %s by a timer that is off", t.name, row.ID)
	// otherwise both times are equal
	case c.Env != nil && c.Env.LastDeploy.Equal(b.env.LastDeploy) &&
		r.since(b.env.LastDeploy) < t.began:
		r.violate("timer", "%s asks for %s by a timer, and does not note when it was", t.name,
			row.ID)
	}
}

// checkUntouched checks invariant C1: a release keeps the intents that its version does not change.
// Resolved values stay as long as they are known. In a partial export of other sets, merged into a
// version with the resource, they stay even if they are no longer known.
func checkUntouched(
	r *run, t *task, old *content, c *state.Commit, out *state.Committed, b before,
) {
	if c.Env == nil || c.Env.Released == b.env.Released || b.env.Releasing != 0 || old == nil ||
		r.books.visible[c.Env.Released] == nil {
		return
	}
	now := r.books.visible[c.Env.Released]
	book := t.books.export
	base := r.books.visible[r.state.read(env).versions[c.Env.Released].Base]
	written(c, out, func(row *state.Row) {
		was, had := b.rows[row.ID]
		one, other := old.entries[row.ID], now.entries[row.ID]
		others := book != nil && book.op.partial != nil && one != nil && base != nil &&
			base.entries[row.ID] != nil && !book.op.replaces(one.res.Set)
		if !had || was.Orphaned || was.Removing || row.Hash == was.Hash ||
			was.Comparison() == state.Undefined || row.Comparison() == state.Undefined && !others {
			return
		}
		if t.books.releases != 0 && other != nil &&
			len(resource.References(other.res.Attributes)) > 0 {
			return // values that were unknown when that version was stored are resolved now
		}
		if other != nil && (hasFact(r, row, other) || hasOutput(r, row)) {
			return // the release follows a change of a fact, for which an entry is still stored
		}
		if one != nil && other != nil && (others || one.body == other.body) &&
			one.hash == other.hash {
			r.violate("C1", "%s replaces the intent of %s, which version %d leaves as it was",
				t.name, row.ID, now.number)
		}
	})
}
