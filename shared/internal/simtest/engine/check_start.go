package engine

import (
	"math/bits"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// checkClaim checks the resources that a worker starts: pauses, and invariant D1.
func checkClaim(r *run, t *task, c *state.Commit) {
	e := r.state.read(env)
	b := r.books
	agent := c.Guard.Key
	switch {
	case b.paused[agent]:
		r.violate("pause", "%s starts %v though the agent is paused", t.name, c.Next)
	case b.halted:
		r.violate("pause", "%s starts %v though the environment is halted", t.name, c.Next)
	}
	checkHeld(r, t, c)
	checkOnlyHere(r, t, e, c)
	checkMoves(r, t, e, c)
	checkConnected(r, t, e, c)
	b.claims++
	for _, id := range c.Next {
		b.claimer[thingOf(id)] = claimer{t.books.worker, b.claims}
	}
	if len(c.Rows) > 0 {
		return // part of an earlier claim
	}
	for id, have := range t.books.runs {
		if have.acted && !have.recorded {
			r.violate("L1",
				"%s goes on to other work, and its run of %s, which acted, is not recorded", t.name,
				id)
		}
	}
	if t.faults+t.slows == 0 && r.jumped <= t.began && r.time().Sub(t.books.until) > r.plan.grace {
		r.violate("until", "%s starts %v %s after it was to stop", t.name, c.Next,
			r.time().Sub(t.books.until))
	}
	checkShelvesTold(r, t)
	t.books.claimStamp, t.books.claimForces = r.stamp, len(b.inForce)
	b.law.claim(c.Next)
	t.books.claimed, t.books.unready, t.books.effect = c.Next, map[resource.ID]string{}, b.effect
	t.books.compares = map[resource.ID]bool{}
	clear(t.books.claims)
	clear(t.books.lost)
	t.books.connects = 0
	for _, id := range c.Next {
		t.books.compares[id] = onlyReports(r, id)
		bookClaim(r, t, e, id)
	}
	clear(t.books.runs)
	if b.effect == nil {
		return
	}
	for _, id := range c.Next {
		if row := e.rows[id]; row != nil && row.Orphaned {
			r.violate("orphan", "%s starts %s, which left the model and is not managed any more",
				t.name, id)
		}
		if row := e.rows[id]; row != nil && row.Current().NotBefore.After(r.time()) &&
			t.books.later[id].Equal(row.Current().NotBefore) {
			r.violate("again",
				"%s starts %s, of which it has itself recorded that it is not to be before %s",
				t.name, id, r.since(row.Current().NotBefore))
		}
	}
	checkHalf(r, t, c.Next)
	scheduled := scheduledIn(r, e)
	earlier, claimed := uint64(0), uint64(0)
	for _, id := range c.Next {
		if i, ok := b.effect.index[id]; ok {
			claimed |= 1 << i
		}
	}
	for _, id := range c.Next {
		i, ok := b.effect.index[id]
		if !ok {
			continue
		}
		if before := b.effect.all[i] & scheduled &^ earlier; before != 0 {
			first := b.effect.ids[bits.TrailingZeros64(before)]
			r.violate("D1",
				"%s starts %s while %s, which has to be finished before, is scheduled (ticket "+
					"%d, %s, lane %s, wave %d of %d) and unfinished",
				t.name, id, first, e.rows[first].Ticket(), e.rows[first].Status(), e.rows[first].Agent,
				e.rows[first].Checked, e.env.Wave.Epoch)
		}
		if why := unreadyFor(r, e, i, earlier); why != "" {
			t.books.unready[id] = why
		}
		if have, known := t.books.claims[id]; known {
			// it also waits for dependants from versions before the last
			removing := e.rows[id] != nil && e.rows[id].Removing
			have.first, have.behind = b.effect.all[i]&claimed == 0 &&
				!removing, b.effect.needs[i]&earlier != 0
			t.books.claims[id] = have
		}
		earlier |= 1 << i
	}
	checkOrder(r, t, e, c.Next)
	hasten(r)
}

// checkOnlyHere checks invariant D2: no resource is claimed that a worker of its former lane has
// claimed and still holds. The next worker of a lane does not run the resources of a lost holder,
// although the lease lists them until its first commit (seed 850036287). A resource that was
// forgotten and created again does not know of a run that was under way.
func checkOnlyHere(r *run, t *task, e *environment, c *state.Commit) {
	for _, id := range c.Next {
		for key, l := range e.leases {
			h := r.books.leases[key]
			if key != c.Guard.Key && h != nil && !h.freed && r.time().Before(h.until) &&
				slices.Contains(h.claimed, id) && slices.Contains(l.Running, id) &&
				!r.books.forgotten[id] {
				r.violate("D2", "%s starts %s, which is still claimed in %s", t.name, id, key)
			}
		}
	}
}

// checkHeld checks that the lease of a lane lasts as long as one handler call may take. Otherwise
// another worker could acquire the lane during the call. A task that has met a fault or a stall may
// be late.
func checkHeld(r *run, t *task, c *state.Commit) {
	longest := time.Duration(0)
	if t.books.open == 0 {
		longest = time.Minute // a connection must be made first, for up to a minute
	}
	each := time.Duration(0)
	for _, id := range c.Next {
		limit := limitOf(id)
		if r.plan.renews {
			limit = min(limit, state.HeldAtOnce)
		}
		each = max(each, limit)
	}
	if held := r.since(r.state.read(env).leases[c.Guard.Key].Until) - r.sched.now; t.faults+
		t.slows == 0 && r.jumped <= t.began && held <= longest+each {
		r.violate("D2", "%s starts %v and holds its lane for %s only", t.name, c.Next, held)
	}
}

// bookClaim records the row of a resource when it is claimed. It checks that no timer has requested
// a resource that waits for a person.
func bookClaim(r *run, t *task, e *environment, id resource.ID) {
	row := e.rows[id]
	if row == nil {
		return
	}
	kind := state.ActionDeploy
	if row.Ticket() == 0 || row.Priority == state.PriorityUserRepair ||
		row.Priority == state.PriorityRepairTimer {
		kind = state.ActionRepair
	}
	delete(t.books.claims, id)
	if !r.books.moved[id] {
		asked := r.waved
		if row.Ticket() != 0 {
			asked = r.asked[id]
		}
		t.books.claims[id] = claimBook{asked: asked, waved: !r.checkedInWave(e, row),
			stamp: r.stamp, version: row.Version,
			kind: kind, state: row.Current().Waiting, facts: row.WantFacts(),
			told: row.FactsAsked > 0, ticket: row.Ticket(), rev: row.Rev,
			body: string(row.Body), at: r.time()}
	}
	t.books.lost[id] = lostElsewhere(r, t, e, row)
	if row.Ticket() == 0 && !r.books.moved[id] && r.checkedInWave(e, row) {
		r.violate("C1", "%s starts %s, which wave %d has checked and nobody else asks for", t.name,
			id, e.env.Wave.Epoch)
	}
	if row.Ticket() == 0 && forGood(row) && e.env.Wave.Priority == state.PriorityRepairTimer {
		r.violate("D7", "%s starts %s, which failed for good (%s), because of a timer", t.name, id,
			row.Current().Class)
	}
}

// checkOrder checks that independent resources of a claim are ordered by priority, and then by
// ticket.
func checkOrder(r *run, t *task, e *environment, next []resource.ID) {
	type rank struct {
		priority state.Priority
		ticket   int64
	}
	var last rank
	earlier := uint64(0)
	for _, id := range next {
		i, ok := r.books.effect.index[id]
		row := e.rows[id]
		if !ok || row == nil {
			continue
		}
		if row.Removing { // it also waits for dependants from versions before the last
			earlier |= 1 << i
			continue
		}
		now := rank{row.Priority, row.Ticket()}
		if row.Ticket() == 0 {
			now.priority = e.env.Wave.Priority
		}
		if r.books.effect.needs[i]&earlier == 0 {
			if now.priority < last.priority || now.priority == last.priority &&
				now.ticket < last.ticket {
				r.violate("order",
					"%s starts %s (priority %d, ticket %d) after what is to come behind it (%d, %d)", t.name, id, now.priority, now.ticket, last.priority, last.ticket)
			}
			last = now
		}
		earlier |= 1 << i
	}
}

// scheduledIn returns the nodes that are scheduled by a ticket or by a check of everything.
func scheduledIn(r *run, e *environment) uint64 {
	var out uint64
	for i, id := range r.books.effect.ids {
		if row := e.rows[id]; row != nil && (row.Ticket() != 0 || inWave(r, e, row)) {
			out |= 1 << i
		}
	}
	return out
}

// pendingIn returns the nodes that other lanes treat as scheduled. These include nodes that a check
// of everything omits, until the omission is recorded.
func pendingIn(r *run, e *environment) uint64 {
	var out uint64
	for i, id := range r.books.effect.ids {
		if row := e.rows[id]; row != nil && (row.Ticket() != 0 || uncheckedBy(r, e, row)) {
			out |= 1 << i
		}
	}
	return out
}

// inWave reports whether the check of everything still has to check a row.
func inWave(r *run, e *environment, row *state.Row) bool {
	class := row.Current().Class
	terminal := class == state.ClassTerminal || class == state.ClassNeedsChange
	return uncheckedBy(r, e, row) && !(e.env.Wave.KeepTerminal && terminal)
}

// uncheckedBy is inWave without regard to the class of the row's failure.
func uncheckedBy(r *run, e *environment, row *state.Row) bool {
	return e.waveLeft(row.Agent) && !r.checkedInWave(e, row) && !row.Removing && !row.Orphaned &&
		row.Comparison() != state.Undefined && row.Block() != state.BlockedYes &&
		row.Block() != state.NeedsDecision
}

// checkedInWave reports whether the last check of everything has checked a row in its current lane.
func (*run) checkedInWave(e *environment, row *state.Row) bool {
	return row.Checked >= e.env.Wave.Epoch || e.wasChecked(row.ID, row.Agent, e.env.Wave.Epoch)
}

// unreadyFor describes a requirement of a node that is not deployed, except those claimed with it.
// It returns "" if there is none.
func unreadyFor(r *run, e *environment, i int, claimed uint64) string {
	for j, id := range r.books.effect.ids {
		if r.books.effect.needs[i]&(1<<j) == 0 || claimed&(1<<j) != 0 {
			continue
		}
		if row := e.rows[id]; row != nil && !asWanted(row) {
			return string(id) + " (" + string(row.Status()) + ")"
		}
	}
	return ""
}

// asWanted reports whether a row was deployed as intended at its last check.
func asWanted(row *state.Row) bool {
	return row.LastRun == state.RunSuccess && row.Comparison() == state.Compliant &&
		row.Deployed == row.Hash
}

// checkCovered checks invariant D2: the lease of a lane lasts as long as a handler call may take.
func checkCovered(r *run, t *task, limit time.Duration) {
	if t.books.lane == "" || t.books.dry || !r.books.live(r, t) {
		return
	}
	if left := r.state.read(env).leases[t.books.lane].Until.Sub(r.time()); left < limit {
		r.violate("D2", "%s begins a call that may take %s, and holds its lane for %s more", t.name,
			limit, left)
	}
}

// checkStart checks a handler call of a task that holds its lane: invariants D1, D2 and D6.
func checkStart(r *run, t *task, id resource.ID, what string) {
	b := r.books
	lanes := map[*task]bool{t: true} // of its worker
	for _, a := range b.active {
		if a.by != t && a.by.books.worker == t.books.worker && thingOf(a.id) != thingOf(id) {
			lanes[a.by] = true
			continue
		}
		if a.by != t && b.live(r, a.by) &&
			(a.by.books.lane == t.books.lane || a.id == id && !b.forgotten[id]) &&
			!a.by.books.dry && !t.books.dry {
			r.violate("D2", "%s calls %s of %s while %s, which holds its lane too, runs %s", t.name,
				what, id, a.by.name, a.id)
		}
	}
	if most := r.plan.mostLanes(id.Agent()); len(lanes) > most && b.live(r, t) {
		r.violate("D2", "%s calls %s of %s beside %d other lanes of %d", t.name, what, id, len(lanes)-1, most)
	}
	at := slices.Index(t.books.claimed, id)
	if at < 0 {
		r.violate("D3", "%s calls %s of %s, which it has not claimed", t.name, what, id)
		return
	}
	eff := t.books.effect
	if eff == nil {
		return
	}
	i, ok := eff.index[id]
	if !ok {
		return
	}
	before := uint64(0) // earlier resources of the claim, which were evaluated when they ran
	for _, other := range t.books.claimed[:at] {
		if j, ok := eff.index[other]; ok {
			before |= 1 << j
		}
	}
	if why := t.books.unready[id]; why != "" && eff == b.effect &&
		unreadyFor(r, r.state.read(env), i, before) != "" && !t.books.compares[id] {
		r.violate("D6", "%s calls %s of %s, which requires %s", t.name, what, id, why)
	}
	for n, other := range t.books.claimed {
		j, ok := eff.index[other]
		if !ok || eff.all[i]&(1<<j) == 0 {
			continue
		}
		have := t.books.runs[other]
		direct := eff.needs[i]&(1<<j) != 0
		switch {
		case n > at:
			r.violate("D1",
				"%s calls %s of %s before %s, which is claimed with it and has to be finished "+
					"before", t.name, what, id, other)
		case have != nil && have.waits && !have.failed:
			r.violate("D1",
				"%s calls %s of %s while %s, which has to be finished before, is in progress",
				t.name, what, id, other)
		case have != nil && have.failed && direct && !t.books.compares[id]:
			r.violate("D6", "%s calls %s of %s, and %s, which it requires, has just failed", t.name,
				what, id, other)
		}
	}
}

// onlyReports reports whether a resource is only compared.
func onlyReports(r *run, id resource.ID) bool {
	return intentSays(r, id, `"report_only":true`)
}

// checkCreate checks invariant D8: the result of an earlier create is looked up before the object
// is created again. So each create must be recorded before it begins. A resource that was forgotten
// and exported again does not know of a create that was under way.
func checkCreate(r *run, t *thing, id resource.ID, token string) {
	who := r.sched.cur
	if !r.books.live(r, who) {
		return
	}
	if row := r.state.read(env).rows[id]; row != nil && row.Creating != token &&
		!r.books.forgotten[id] {
		r.violate("D8", "%s creates %s as %q, and what is noted of a create is %q", who.name, id,
			token, row.Creating)
	}
	have := who.books.runs[id]
	for _, m := range t.made {
		if m.seen && id.Type() == typeSwap {
			continue // the object is being replaced
		}
		if !m.late && have != nil && m.at < have.began {
			r.violate("D8",
				"%s creates %s, and what a create at %s led to was not looked up: now there are two", who.name, id, m.at)
		}
	}
}
