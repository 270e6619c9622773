package engine

import (
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// law records the reasons why resources run. Each reason causes one run, and all reasons before a
// claim share the run. Times are steps, since two events may have the same virtual time.
type law struct {
	step    int
	due     map[resource.ID][]reason // reasons without a run so far
	claimed map[resource.ID]int      // step of the last claim
	ran     map[resource.ID]*runBook // the last run
	follows map[string]follow        // entries of the outbox
	// resources whose result was in conflict, and is to be written by another commit of the task
	open map[resource.ID]*task
}

// reason is one reason to run. A void reason requires only the effect of the current run, and is
// dropped if that run succeeds.
type reason struct {
	step int
	why  string
	void bool
}

// follow is an entry of the outbox, with the step at which it was stored. tells: it reports a
// change.
type follow struct {
	state.Outbox
	step  int
	tells bool
	// hearers are the dependants of its resource at that step.
	hearers map[resource.ID]bool
}

func newLaw() *law {
	return &law{due: map[resource.ID][]reason{}, claimed: map[resource.ID]int{},
		ran: map[resource.ID]*runBook{}, follows: map[string]follow{},
		open: map[resource.ID]*task{}}
}

// add records a reason to run.
func (l *law) add(id resource.ID, why string, void bool) {
	l.step++
	l.due[id] = append(l.due[id], reason{l.step, why, void})
}

// claim records claimed resources.
func (l *law) claim(ids []resource.ID) {
	l.step++
	for _, id := range ids {
		l.claimed[id] = l.step
	}
}

// over drops the reasons that precede the last claim. If the run succeeded, it also drops the void
// reasons.
func (l *law) over(id resource.ID, well bool) {
	l.due[id] = slices.DeleteFunc(l.due[id],
		func(a reason) bool { return a.step <= l.claimed[id] || well && a.void })
}

// checkReason checks that a run that begins has a reason.
func checkReason(r *run, t *task, id resource.ID, have *runBook) {
	l := r.books.law
	before := l.ran[id]
	if have == before || t.books.dry {
		return
	}
	l.ran[id] = have
	lost := before != nil && !before.recorded || l.open[id] != nil
	elsewhere := r.books.moved[id] || r.books.forgotten[id]
	if len(l.due[id]) == 0 && !lost && !elsewhere && !changedBefore(r, t, id) {
		r.violate("reasons",
			"%s runs %s, and nothing has happened since that was claimed last for which it would "+
				"have to", t.name, id)
	}
	l.over(id, false)
}

// changedBefore reports whether a run of the same claim has changed a subscribed requirement of a
// resource. Running the resource after that requirement, instead of notifying it later, causes no
// additional run.
func changedBefore(r *run, t *task, id resource.ID) bool {
	eff := r.books.effect
	i, known := eff.index[id]
	return known && slices.ContainsFunc(t.books.claimed, func(q resource.ID) bool {
		j, known := eff.index[q]
		have := t.books.runs[q]
		return known && eff.needs[i]&(1<<j) != 0 && have != nil && have.acted &&
			(intentSays(r, q, `"send_event":true`) || r.books.subscribed(id, q))
	})
}

// isRunning reports whether a worker has claimed a row and holds its lane.
func isRunning(r *run, row *state.Row) bool {
	l := r.state.read(env).leases[row.Agent]
	return l != nil && l.Holder != "" && r.time().Before(l.Until) &&
		slices.Contains(l.Running, row.ID)
}

// reasonPlanned records the reason for which a planner schedules a row.
func reasonPlanned(r *run, t *task, row, was *state.Row, had bool, entries []follow) {
	l := r.books.law
	blocked := was.Block() == state.BlockedTemp || was.Block() == state.BlockedYes ||
		was.Block() == state.NeedsDecision
	same := had && row.Hash == was.Hash && string(row.Body) == string(was.Body) &&
		row.Agent == was.Agent
	asked := row.Ticket() != 0 && row.Ticket() != was.Ticket()
	deploys := (t.books.asks == state.PriorityUserDeploy || t.books.retries) &&
		!t.checksAgent(row.ID.Agent())
	switch {
	case row.Ticket() == 0:
	case !had, row.Hash != was.Hash, row.Agent != was.Agent, was.Orphaned,
		was.Comparison() == state.Undefined:
		l.add(row.ID, "another intent", false)
	case row.WantFacts() && !was.WantFacts():
		l.add(row.ID, "its facts", false)
	case !asked:
	case blocked:
		l.add(row.ID, "what it was blocked for", false)
	case len(entries) > 0:
		reasonFollows(r, t, row, was, entries)
	case deploys && same && isRunning(r, was) && !wasFreed(r, row.ID) &&
		l.claimed[row.ID] <= t.books.planned: // otherwise it was claimed concurrently
		l.add(row.ID, "a deploy", true)
	default:
		l.add(row.ID, "a request", false)
	}
}

// wasFreed reports whether a resource has fewer requirements because of a release in progress, or
// will have because a requirement is gone. A concurrent run may have been claimed before that, and
// skip the resource for a former requirement. The simulation cannot determine this, so it allows
// another run.
func wasFreed(r *run, id resource.ID) bool {
	e := r.state.read(env)
	return r.books.effect.gone(id, e.rows) || e.env.Releasing != 0 && r.books.freed[id]
}

// firm makes all reasons of a resource independent of the outcome of the current run.
func (l *law) firm(id resource.ID) {
	for i := range l.due[id] {
		l.due[id][i].void = false
	}
}

// lessThan returns the resources with fewer requirements than before.
func (e *effective) lessThan(before *effective) map[resource.ID]bool {
	out := map[resource.ID]bool{}
	if before == nil {
		return out
	}
	for i, id := range before.ids {
		for j, q := range before.ids {
			if before.needs[i]&(1<<j) == 0 {
				continue
			}
			n, there := e.index[id]
			m, known := e.index[q]
			if there && (!known || e.needs[n]&(1<<m) == 0) {
				out[id] = true
			}
		}
	}
	return out
}

// gone reports whether a requirement of a resource no longer exists.
func (e *effective) gone(id resource.ID, rows map[resource.ID]*state.Row) bool {
	i, known := e.index[id]
	return known && slices.ContainsFunc(e.ids, func(q resource.ID) bool {
		return e.needs[i]&(1<<e.index[q]) != 0 && rows[q] == nil
	})
}

// reasonFollows records whether events of other resources since the last claim require a run of a
// row. The simulation cannot order a run that was under way when the leases were read, and that was
// requested before them. Such a resource may run again, even if that run has ended since, because a
// check without findings writes no row. The order is also unknown for a claim at the time of the
// event, and for resources that have become dependants since. A row records only its last change,
// so an omitted event of an earlier change counts as one that happened. A result in conflict stores
// its event before its row: a row that changed at the time of the event counts, too. The event of a
// purge has a receiver of its own and counts in any case: a run between the purge and the event does
// not reload for it, since no row states the purge.
func reasonFollows(r *run, t *task, row, was *state.Row, entries []follow) {
	l := r.books.law
	for i := range entries {
		f := &entries[i]
		again := f.Kind == state.OutboxAgain && f.Of == row.ID
		tie := f.At.Equal(was.SucceededAt) || f.At.Equal(was.TriedAt)
		busy := isRunning(r, was) || t.books.sawRunning[row.ID]
		since := f.step > l.claimed[row.ID] || was.Ticket() < f.Ticket && busy || tie ||
			!f.hearers[row.ID] || f.To != ""
		of := r.state.read(env).rows[f.Of]
		tells := f.tells || of != nil && !of.ChangedAt.Before(f.At)
		if again || tells && f.Of != row.ID && since {
			l.add(row.ID, string(f.Kind)+" of "+string(f.Of), false)
		}
	}
}

// answered returns the outbox entries that a commit processes.
func (l *law) answered(c *state.Commit) []follow {
	var out []follow
	for _, id := range c.DropOutbox {
		if f, known := l.follows[id]; known {
			out = append(out, f)
		}
	}
	return out
}

// reasonResults records the effects of a result on the reasons to run.
func reasonResults(r *run, row, was *state.Row) {
	l := r.books.law
	if row.LastAction == was.LastAction {
		return
	}
	if l.over(row.ID, asWanted(row)); !row.Current().NotBefore.IsZero() {
		l.add(row.ID, "it is in progress", false)
	}
}

// reasonChanged records that the subscribed dependants of a changed resource must run, unless they
// ran after it in the same claim.
func reasonChanged(r *run, c *state.Commit, row, was *state.Row) {
	eff := r.books.effect
	i, known := 0, false
	if eff != nil {
		i, known = eff.index[row.ID]
	}
	if !known || row.ChangedAt.Equal(was.ChangedAt) {
		return
	}
	all := intentSays(r, row.ID, `"send_event":true`)
	for j, d := range eff.ids {
		behind := slices.ContainsFunc(c.Rows,
			func(o state.Row) bool { return o.ID == d && o.LastAction > row.LastAction })
		if eff.needs[j]&(1<<i) != 0 && (all || r.books.subscribed(d, row.ID)) && !behind {
			r.books.law.add(d, "a change of "+string(row.ID), false)
		}
	}
}

// reasonConflicts records which results of a commit are in conflict. If no commit writes such a
// result, the run was in vain.
func reasonConflicts(r *run, t *task, c *state.Commit, out *state.Committed) {
	l := r.books.law
	if len(c.Next) > 0 {
		return
	}
	maps.DeleteFunc(l.open, func(_ resource.ID, by *task) bool { return by == t })
	for i := range out.Conflicts {
		l.open[out.Conflicts[i].ID] = t
	}
}

// reasonOutbox records the outbox entries of a commit. An event reports a change only if its
// resource has changed, or may have changed. An entry that is stored again, because a result does
// not count, wakes resources that were scheduled before the current ticket of its resource.
func reasonOutbox(r *run, c *state.Commit) {
	l := r.books.law
	l.step++
	for _, o := range c.AddOutbox {
		row := r.state.read(env).rows[o.Of]
		if have, again := l.follows[o.ID]; again && have.tells {
			if have.Ticket = o.Ticket; row != nil && row.Ticket() != 0 {
				have.Ticket = min(o.Ticket, row.Ticket())
			}
			l.follows[o.ID] = have
			continue
		}
		tells := o.Kind != state.OutboxEvent || row == nil || row.ChangedAt.Equal(o.At)
		hearers := dependantsOf(r, o.Of)
		if o.To != "" {
			hearers = map[resource.ID]bool{o.To: true}
		}
		l.follows[o.ID] = follow{o, l.step, tells, hearers}
	}
}

// dependantsOf returns the dependants of a resource in the version in force.
func dependantsOf(r *run, id resource.ID) map[resource.ID]bool {
	out, eff := map[resource.ID]bool{}, r.books.effect
	if eff == nil {
		return out
	}
	i, known := eff.index[id]
	for j, d := range eff.ids {
		if known && eff.needs[j]&(1<<i) != 0 {
			out[d] = true
		}
	}
	return out
}

// reasonWave records a check of everything as a reason for all resources.
func reasonWave(r *run) {
	for id := range r.state.read(env).rows {
		r.books.law.add(id, "a check of everything", false)
	}
}
