package sim

import (
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// law are the books on why resources run: each runs once for each reason, and reasons that came
// before it was claimed share that run. Times are steps, as two things may happen at the same
// instant.
type law struct {
	step    int
	due     map[resource.ID][]reason // reasons to run that no run has followed
	claimed map[resource.ID]int      // when it was claimed last
	ran     map[resource.ID]*runBook // its last run
	follows map[string]follow        // entries of the outbox
	// whose result was left out of a commit, and is to be written by another one
	open map[resource.ID]*task
}

// reason is one reason to run. One that is void once the run that is under way ends well asks for
// nothing but what that does.
type reason struct {
	step int
	why  string
	void bool
}

// follow is an entry of the outbox: when it was stored, and whether it tells of something.
type follow struct {
	state.Outbox
	step  int
	tells bool
	// hearers are what required its resource then.
	hearers map[resource.ID]bool
}

func newLaw() *law {
	return &law{due: map[resource.ID][]reason{}, claimed: map[resource.ID]int{},
		ran: map[resource.ID]*runBook{}, follows: map[string]follow{},
		open: map[resource.ID]*task{}}
}

// add notes a reason to run.
func (l *law) add(id resource.ID, why string, void bool) {
	l.step++
	l.due[id] = append(l.due[id], reason{l.step, why, void})
}

// claim notes what is claimed.
func (l *law) claim(ids []resource.ID) {
	l.step++
	for _, id := range ids {
		l.claimed[id] = l.step
	}
}

// over drops the reasons that were known when the last run was claimed, and, if it ended well,
// those that ask for no more.
func (l *law) over(id resource.ID, well bool) {
	l.due[id] = slices.DeleteFunc(l.due[id],
		func(a reason) bool { return a.step <= l.claimed[id] || well && a.void })
}

// checkReason checks that there is a reason for a run that begins.
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

// changedBefore reports whether something that a resource requires and hears was changed by a run
// of the same claim. That it is run behind it, and not told of it afterwards, costs no run more.
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

// isRunning reports whether somebody has claimed a row and holds its lane.
func isRunning(r *run, row *state.Row) bool {
	l := r.state.read(env).leases[row.Lane]
	return l != nil && l.Holder != "" && r.time().Before(l.Until) &&
		slices.Contains(l.Running, row.ID)
}

// reasonPlanned notes for what a planner schedules a row.
func reasonPlanned(r *run, t *task, row, was *state.Row, had bool, entries []follow) {
	l := r.books.law
	blocked := was.Blocked == state.BlockedTemp || was.Blocked == state.BlockedYes ||
		was.Blocked == state.NeedsPerson
	same := had && row.Hash == was.Hash && string(row.Body) == string(was.Body) &&
		row.Lane == was.Lane
	asked := row.Ticket != 0 && row.Ticket != was.Ticket
	deploys := (t.books.asks == state.PriorityUserDeploy || t.books.retries) &&
		!t.checksAgent(row.ID.Agent())
	switch {
	case row.Ticket == 0:
	case !had, row.Hash != was.Hash, row.Lane != was.Lane, was.Orphaned,
		was.Compliance == state.Undefined:
		l.add(row.ID, "another intent", false)
	case row.WantFacts && !was.WantFacts:
		l.add(row.ID, "its facts", false)
	case !asked:
	case blocked:
		l.add(row.ID, "what it was blocked for", false)
	case len(entries) > 0:
		reasonFollows(r, t, row, was, entries)
	case deploys && same && isRunning(r, was) && !wasFreed(r, row.ID) &&
		l.claimed[row.ID] <= t.books.planned: // else it was claimed meanwhile
		l.add(row.ID, "a deploy", true)
	default:
		l.add(row.ID, "a request", false)
	}
}

// wasFreed reports whether a resource waits for less by a release that is under way, or will by one
// that comes, since something is gone. Whether a run that is under way was claimed before that, and
// skips it for what it does not wait for any more, cannot be told: it may run once more.
func wasFreed(r *run, id resource.ID) bool {
	e := r.state.read(env)
	return r.books.effect.gone(id, e.rows) || e.env.Releasing != 0 && r.books.freed[id]
}

// firm has a resource run for whatever asks for it, however the run that is under way ends.
func (l *law) firm(id resource.ID) {
	for i := range l.due[id] {
		l.due[id][i].void = false
	}
}

// lessThan returns what waits for less than it did before.
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

// gone reports whether something that a resource waits for is gone.
func (e *effective) gone(id resource.ID, rows map[resource.ID]*state.Row) bool {
	i, known := e.index[id]
	return known && slices.ContainsFunc(e.ids, func(q resource.ID) bool {
		return e.needs[i]&(1<<e.index[q]) != 0 && rows[q] == nil
	})
}

// reasonFollows notes whether a row has to run because of what has become of others since it was
// claimed last. Of one that was being run when the leases were read, and was asked for before
// those, it cannot be told whether it was claimed before them: it may run again, even if that run
// has ended since, as a check that has found nothing writes no row. Nor can it be told of what was
// claimed at the very time at which they ended, nor of what has come to require them since. A row
// records its last change only: an event of an earlier one, which was left out, is taken for one
// that happened.
func reasonFollows(r *run, t *task, row, was *state.Row, entries []follow) {
	l := r.books.law
	for i := range entries {
		f := &entries[i]
		again := f.Kind == state.OutboxAgain && f.Of == row.ID
		tie := f.At.Equal(was.SucceededAt) || f.At.Equal(was.TriedAt)
		busy := isRunning(r, was) || t.books.sawRunning[row.ID]
		since := f.step > l.claimed[row.ID] || was.Ticket < f.Ticket && busy || tie ||
			!f.hearers[row.ID]
		of := r.state.read(env).rows[f.Of]
		tells := f.tells || of != nil && of.ChangedAt.After(f.At)
		if again || tells && f.Of != row.ID && since {
			l.add(row.ID, string(f.Kind)+" of "+string(f.Of), false)
		}
	}
}

// answered returns the entries of the outbox that a commit does.
func (l *law) answered(c *state.Commit) []follow {
	var out []follow
	for _, id := range c.DropOutbox {
		if f, known := l.follows[id]; known {
			out = append(out, f)
		}
	}
	return out
}

// reasonResults notes what follows from the results of runs.
func reasonResults(r *run, row, was *state.Row) {
	l := r.books.law
	if row.LastAction == was.LastAction {
		return
	}
	if l.over(row.ID, asWanted(row)); !row.NotBefore.IsZero() {
		l.add(row.ID, "it is in progress", false)
	}
}

// reasonChanged notes that those that hear a resource have to run for its change, unless they have
// run behind it in the same claim.
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

// reasonConflicts notes which results a commit has left out: if nobody writes them after all, the
// runs were in vain.
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

// reasonOutbox notes what is to follow. An event tells of something only if its resource has
// changed, or may have. What is stored once more, as the result does not count, is to wake those
// that were scheduled before what its resource is to run for now, if that is scheduled.
func reasonOutbox(r *run, c *state.Commit) {
	l := r.books.law
	l.step++
	for _, o := range c.AddOutbox {
		row := r.state.read(env).rows[o.Of]
		if have, again := l.follows[o.ID]; again && have.tells {
			if have.Ticket = o.Ticket; row != nil && row.Ticket != 0 {
				have.Ticket = min(o.Ticket, row.Ticket)
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

// dependantsOf returns what requires a resource by what is in force.
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

// reasonWave notes that everything is to be checked.
func reasonWave(r *run) {
	for id := range r.state.read(env).rows {
		r.books.law.add(id, "a check of everything", false)
	}
}
