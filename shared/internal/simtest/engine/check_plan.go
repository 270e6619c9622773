package engine

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// answers reports whether a commit processes entries of the outbox.
func answers(c *state.Commit) bool {
	return slices.ContainsFunc(c.DropOutbox, func(id string) bool {
		return !slices.ContainsFunc(c.AddOutbox, func(o state.Outbox) bool { return o.ID == id })
	})
}

// checkPlan checks a commit of a planner.
func checkPlan(r *run, t *task, c *state.Commit, out *state.Committed, b before) {
	last, asked := r.books.ticket, c
	if r.books.whole != nil { // all pages have one ticket and one reason, also if they are repeated
		asked = r.books.whole
		last--
	} else if t.faults > 0 && c.Guard.Fence == last>>20 { // the rest of a commit is repeated as one page
		last--
	}
	if answers(asked) {
		t.books.answers = c.Guard.Fence
	}
	// requests that follow from a run, whatever the task was started for
	follows := t.books.answers == c.Guard.Fence
	if now := r.books.law.answered(asked); len(now) > 0 || !follows {
		t.books.follows = now
	}
	written(c, out, func(row *state.Row) {
		was, had := b.rows[row.ID]
		reasonPlanned(r, t, row, &was, had, t.books.follows)
		if row.Ticket() != 0 && row.Ticket() != was.Ticket() {
			if row.Ticket() <= last {
				r.violate("D3", "%s gives %s ticket %d, and %d was given out before", t.name,
					row.ID, row.Ticket(), last)
			}
			r.books.ticket = max(r.books.ticket, row.Ticket())
		}
		if !had {
			return
		}
		checkLetGo(r, t, row, &was)
		checkPlanned(r, t, row, &was)
		checkReplaced(r, t, row, &was)
		checkMoved(r, t, row, &was)
		if row.Ticket() != was.Ticket() && !follows {
			checkTimed(r, t, row, &was, c, b)
		}
		if row.Ticket() != 0 && row.Ticket() != was.Ticket() &&
			(row.Orphaned || row.Comparison() == state.Undefined || row.Block() == state.BlockedYes) {
			r.violate("D6", "%s asks for %s, which may not run (%s)", t.name, row.ID, row.Status())
		}
		if asked := row.Ticket() != 0 && was.Ticket() == 0 && row.Hash == was.Hash; asked && !follows {
			checkRetried(r, t, row, &was)
		}
		if t.books.asks != 0 && b.env.Releasing == 0 && !follows && row.Ticket() != was.Ticket() &&
			row.Priority > t.books.asks {
			r.violate("order", "%s asks for %s, and its priority is %d", t.name, row.ID,
				row.Priority)
		}
	})
	r.books.half.note(r.state.read(env).env.Releasing != 0, c, out, b)
	if c.Version != nil && r.books.visible[c.Version.Number] != nil {
		r.violate("V2", "%s stores version %d, which is visible already", t.name, c.Version.Number)
	}
	old := r.books.released
	if c.Env != nil {
		checkEnv(r, t, &b.env)
	}
	if r.books.whole == nil { // these checks are about all rows of a commit
		checkKept(r, t, c, out, b)
		checkUntouched(r, t, old, c, out, b)
		checkNotTargeted(r, t, old, c, out, b)
	}
	checkPrefix(r, t, c)
	if c.Env != nil && c.Plan && b.env.Releasing == 0 && !answers(asked) && r.books.whole == nil {
		checkAsked(r, t, c, b)
	}
	checkForgotten(r, t, c)
}

// checkAsked checks that a request schedules all resources that it selects, and no others.
func checkAsked(r *run, t *task, c *state.Commit, b before) {
	e := r.state.read(env)
	for id, rev := range t.books.failing {
		row := e.rows[id]
		if row == nil || row.Rev != rev {
			continue // scheduled, or changed since
		}
		// A resource that was running when the leases were read is covered by that run, even if the
		// run has been abandoned since.
		waits := isRunning(r, row) || t.books.sawRunning[id] || row.Block() == state.BlockedYes ||
			row.Block() == state.NeedsDecision || row.Comparison() == state.Undefined || row.Orphaned
		if row.Ticket() == 0 && !waits && !leavesAs(r.books.released, id) {
			r.violate("D7", "%s is to retry what has failed, and leaves %s out", t.name, id)
		}
	}
	for i := range c.Rows {
		if id := c.Rows[i].ID; t.books.only != "" && id != t.books.only {
			r.violate("order", "%s asks for %s, and is for %s", t.name, id, t.books.only)
		}
		if was := b.rows[c.Rows[i].ID]; t.books.terms != nil && was.Rev > 0 &&
			was.Rev == c.Rows[i].Rev && !asksFor(t.books.terms, &was) {
			r.violate("order", "%s asks for %s (%s), and is for %v", t.name, was.ID, was.Status(),
				t.books.terms)
		}
	}
}

// checkPrefix checks that requirements precede their dependants in a plan, since a home may write
// the rows one after the other.
func checkPrefix(r *run, t *task, c *state.Commit) {
	if r.books.effect == nil {
		return
	}
	behind := uint64(0)
	for i := len(c.Rows) - 1; i >= 0; i-- {
		n, ok := r.books.effect.index[c.Rows[i].ID]
		if !ok || c.Rows[i].Ticket() == 0 {
			continue
		}
		if r.books.effect.all[n]&behind != 0 {
			r.violate("order", "%s schedules %s before what has to be finished before", t.name,
				c.Rows[i].ID)
		}
		behind |= 1 << n
	}
}

// sameOutcome reports whether two rows have the same outcome, except for moves between lanes.
func sameOutcome(row, was *state.Row) bool {
	a, b := row.Outcome, was.Outcome
	a.Checked = b.Checked
	return reflect.DeepEqual(a, b)
}

// checkPlanned checks one row that a planner writes: invariants D5 and C1.
func checkPlanned(r *run, t *task, row, was *state.Row) {
	// it takes over the state of another row
	isNew := was.Orphaned || was.Removing || len(row.EarlierIDs()) > 0
	if was.Rev > 0 && row.Agent != was.Agent {
		r.books.moved[row.ID] = true
	}
	switch {
	case len(row.EarlierIDs()) > 0, was.Rev == 0, row.Gone:
	case !sameOutcome(row, was):
		r.violate("D5", "%s changes the outcome of %s, which only a run may", t.name, row.ID)
	}
	if !isNew && was.Ticket() != 0 && row.Ticket() != 0 && row.Priority > was.Priority {
		r.violate("order",
			"%s asks for %s, which was asked for with priority %d, and lowers that to %d", t.name,
			row.ID, was.Priority, row.Priority)
	}
	if row.Hash != was.Hash && row.Ran != row.Hash &&
		(row.Current().Attempts != 0 || !row.Timer().IsZero()) {
		r.violate("D7", "%s gives %s a new intent that has failed %d times", t.name, row.ID,
			row.Attempts)
	}
	if !t.books.plain && !t.spared(row.ID.Agent()) || isNew {
		return
	}
	same := row.Hash == was.Hash && string(row.Body) == string(was.Body) && row.Agent == was.Agent
	if same && asWanted(was) && was.Block() != state.BlockedYes && was.Ticket() == 0 &&
		row.Ticket() != 0 && !row.WantFacts() &&
		// a check of everything may schedule a resource whose requirements have changed
		!t.books.waving {
		r.violate("C1", "%s schedules %s, which has not changed and is deployed", t.name, row.ID)
	}
	now := *row
	now.Rev = was.Rev
	if reflect.DeepEqual(&now, was) {
		r.violate("C1", "%s writes %s, of which nothing has changed", t.name, row.ID)
	}
}

// checkRetried checks invariant D7: a timer never schedules a resource that waits for a person. A
// user who has not asked for retries schedules no waiting resource.
func checkRetried(r *run, t *task, row, was *state.Row) {
	switch {
	case !was.Counts() || was.LastRun != state.RunFailed || was.Orphaned || was.Removing:
	case (row.Priority == state.PriorityDeployTimer || row.Priority == state.PriorityRepairTimer) &&
		forGood(was):
		r.violate("D7", "%s schedules %s, which failed for good (%s), because of a timer", t.name,
			row.ID, was.Class)
	case row.Priority == state.PriorityDeployTimer && was.Timer().After(r.time()):
		r.violate("D7",
			"%s schedules %s, which is to be tried again only at %s, because of a timer", t.name,
			row.ID, r.since(was.Timer()))
	case row.Priority == state.PriorityUserDeploy && t.books.lenient &&
		(forGood(was) || was.Timer().After(r.time())):
		r.violate("D7",
			"%s schedules %s, which waits (%s, until %s), and nobody has asked for that", t.name,
			row.ID, was.Class, r.since(was.Timer()))
	}
}

// knowsSettings reports whether a task knows the settings of the plan. An environment has them
// after the first export of a whole model.
func knowsSettings(r *run, t *task) bool {
	return r.books.configured != 0 && t.began > r.books.configured
}

// checkFingerprint checks which export is remembered as up to date. The last version must have its
// content, and another such export must produce the same version.
func checkFingerprint(r *run, t *task, now *state.Env) {
	o, c := r.books.prints[now.Fingerprint], r.books.visible[now.Last]
	if o == nil || c == nil || o.partial != nil || o.target != "" {
		r.violate("V1", "%s remembers an export that nobody has made", t.name)
		return
	}
	for i := range o.model {
		if learnedFrom(o.model[i].text) != "" && len(o.factOf(&o.model[i])) == 0 {
			continue // the resource is described without its text
		}
		for _, ref := range resource.References(o.model[i].text) {
			switch ref.(type) {
			case resource.Secret, resource.Parameter:
				r.violate("V1", "%s remembers an export of which %s may mean something else next time",
					t.name, o.model[i].id)
			}
		}
	}
	checkContent(r, t, &exportBook{op: o}, c)
}

// checkEnv checks a change of the environment as a whole: invariants V1 and V2.
func checkEnv(r *run, t *task, was *state.Env) {
	e := r.state.read(env)
	now := &e.env
	if r.books.configured == 0 && now.Settings.RetryMax > 0 {
		r.books.configured = r.sched.now
	}
	if now.Last != was.Last {
		checkVisible(r, t, e, was.Last, now.Last)
	}
	if now.Released != was.Released && now.Releasing == 0 {
		r.violate("V1",
			"%s notes that the release of version %d is complete before it has written what that "+
				"changes", t.name, now.Released)
	}
	// A repeated release of the version in force may find that some requirements no longer exist.
	anew := now.Releasing != 0 && now.Graph != was.Graph
	if now.Released != was.Released || r.books.released == nil && now.Released != 0 || anew {
		noteReleased(r, t, now.Released)
	}
	checkBase(r, t, was, now)
	if now.Wave.Epoch < was.Wave.Epoch {
		r.violate("D3", "%s turns the counter of waves back", t.name)
	}
	if off := r.plan.Settings.RepairTimer == "0" && knowsSettings(r, t); off &&
		now.Wave.Epoch > was.Wave.Epoch && now.Wave.Priority == state.PriorityRepairTimer {
		r.violate("timer", "%s has everything checked by a timer that is off", t.name)
	}
	if now.Wave.Epoch > was.Wave.Epoch {
		reasonWave(r)
	}
	t.books.waved = t.books.waved || now.Wave.Epoch > was.Wave.Epoch
	if now.Fingerprint != "" && (now.Fingerprint != was.Fingerprint || now.Last != was.Last) {
		checkFingerprint(r, t, now)
	}
}

func checkVisible(r *run, t *task, e *environment, was, now int) {
	v, stored := e.versions[now]
	switch {
	case now != was+1:
		r.violate("V1", "%s makes version %d visible after version %d", t.name, now, was)
		return
	case !stored:
		r.violate("V1", "%s makes version %d visible, which is not stored", t.name, now)
		return
	}
	c := readContent(r, &v)
	if c.problem != "" {
		r.violate("V1", "%s makes version %d visible, which is not whole: %s", t.name, now,
			c.problem)
		return
	}
	if before := r.books.visible[was]; before != nil && before.same(c) {
		r.violate("V1", "%s makes version %d of what version %d is already", t.name, now, was)
	}
	checkPinned(r, t, c)
	book := t.books.export
	if book != nil && book.op.target != "" {
		checkTargeted(r, t, book.op, v.Base, c)
		r.books.visible[now], r.books.last = c, now
		return
	}
	if base := r.books.visible[v.Base]; v.Base != 0 && base != nil && book != nil {
		checkMerged(r, t, book.op, base, c)
	}
	r.books.visible[now], r.books.last = c, now
	if book != nil {
		checkContent(r, t, book, c)
	}
}

// checkPinned checks that a version records the version of each secret, so that a new version of a
// secret results in a new intent. Only rows have the versions of secret outputs.
func checkPinned(r *run, t *task, c *content) {
	for _, id := range c.ids {
		for _, ref := range resource.References(c.entries[id].res.Attributes) {
			s, is := ref.(resource.Secret)
			if _, output := s.Output(); is && !output && s.Version == "" &&
				r.plan.rates[kindSecrets] == 0 {
				r.violate("V1", "%s: version %d does not say which version of its secret %s means",
					t.name, c.number, id)
			}
		}
	}
}

// replaces reports whether a partial export replaces or removes a set.
func (o *op) replaces(set string) bool {
	return set != "" && (slices.Contains(o.drops, set) ||
		slices.ContainsFunc(o.model, func(s spec) bool { return s.set == set }))
}

// checkMerged checks that a partial export does not change resources of other sets, nor the values
// of their references.
func checkMerged(r *run, t *task, o *op, base, c *content) {
	again := map[resource.ID]bool{}
	for i := range o.model {
		again[o.model[i].id] = true
	}
	for id, was := range base.entries {
		now := c.entries[id]
		switch {
		case o.replaces(was.res.Set) && !slices.Contains(o.drops, was.res.Set):
		case o.replaces(was.res.Set):
			if r.happened("set removed"); now != nil {
				r.violate("V1", "%s: version %d has %s, and set %q was to be removed", t.name,
					c.number, id, was.res.Set)
			}
		case now == nil:
			r.violate("V1", "%s: version %d lacks %s, which is in set %q and not exported", t.name,
				c.number, id, was.res.Set)
		case was.res.Set == "" && now.res.Set == "" &&
			(now.res.Attributes["v"] != was.res.Attributes["v"] ||
				now.res.Attributes["fixed"] != was.res.Attributes["fixed"]):
			r.violate("V1", "%s: version %d has another intent of %s, which is shared", t.name,
				c.number, id)
		case (!again[id] || was.res.Set == "" && now.res.Set == "") && now.hash != was.hash &&
			!c.rehosted(base, id) && !base.behind(id): // the connection is a part of the intent
			r.violate("V1", "%s: version %d has another intent of %s, which is in set %q", t.name,
				c.number, id, was.res.Set)
		}
	}
	for _, a := range base.agents {
		if !slices.ContainsFunc(c.agents, func(b resource.Agent) bool { return a.Name == b.Name }) {
			r.violate("V1", "%s: version %d lacks agent %s", t.name, c.number, a.Name)
		}
	}
}

// noteReleased records the version that is now in force.
func noteReleased(r *run, t *task, number int) {
	// or it continues an interrupted release
	again := r.books.released != nil && r.books.released.number == number
	if book := t.books.export; book != nil && book.op.noRelease && !again {
		r.violate("V1", "%s releases version %d, and was not to release anything", t.name, number)
	}
	c := r.books.visible[number]
	if c == nil {
		r.violate("V1", "%s releases version %d, which is not visible", t.name, number)
		return
	}
	b := r.books
	removing := map[resource.ID]map[resource.ID]bool{}
	for id, after := range b.removing {
		if c.entryOf(id) == "" {
			removing[id] = c.moved(after)
		}
	}
	if b.released != nil {
		for id, it := range b.released.entries {
			if c.entryOf(id) == "" && it.res.PurgesOnDelete() {
				removing[id] = c.moved(b.requiredBy(id))
			}
		}
	}
	// a former dependant that left the model since is not recorded
	for _, after := range removing {
		maps.DeleteFunc(after,
			func(id resource.ID, _ bool) bool {
				return c.entries[id] == nil &&
					removing[id] == nil
			})
	}
	happenedIn(r, b.released, c)
	b.removing, b.released = removing, c
	b.mayWait, b.went = b.went, map[resource.ID]map[resource.ID]bool{}
	b.inForce = append(b.inForce, number)
	before := b.effect
	b.effect = effectiveOf(c, removing)
	b.freed = b.effect.lessThan(before)
	for id := range b.freed {
		b.law.firm(id)
	}
	// a resource owes no reload for a requirement or subscription that was removed
	for id, o := range b.events {
		if o.purged && b.owesStill(r, id, o) {
			continue
		}
		i, known := b.effect.index[id]
		j, there := b.effect.index[o.by]
		if !known || !there || b.effect.needs[i]&(1<<j) == 0 ||
			o.byType && !b.subscribed(id, o.by) {
			delete(b.events, id)
		}
	}
	traceReleased(r, t)
}

// traceReleased traces the version that is now in force.
func traceReleased(r *run, t *task) {
	if r.sched.trace == nil {
		return
	}
	for i, id := range r.books.effect.ids {
		var after []resource.ID
		for j, other := range r.books.effect.ids {
			if r.books.effect.needs[i]&(1<<j) != 0 {
				after = append(after, other)
			}
		}
		r.tracef("%s releases %s after %v: %s", t.name, id, after,
			bodyOf(r.books.released.entries[id]))
	}
}

func bodyOf(it *item) string {
	if it == nil {
		return "to be removed"
	}
	return it.body
}

// requiredBy returns the dependants of a resource in the released version.
func (b *books) requiredBy(id resource.ID) map[resource.ID]bool {
	out := map[resource.ID]bool{}
	if i, ok := b.effect.index[id]; ok {
		for j, other := range b.effect.ids {
			if b.effect.needs[j]&(1<<i) != 0 && b.released.entries[other] != nil {
				out[other] = true
			}
		}
	}
	return out
}

// checkText checks invariant S1 for one text.
func checkText(r *run, where, text string) {
	if strings.Contains(text, marker) {
		r.violate("S1", "a secret is in %s: %s", where, text)
	}
}

// checkCommitText checks invariant S1 for a commit.
func checkCommitText(r *run, c *state.Commit) {
	for i := range c.Rows {
		row := &c.Rows[i]
		for _, s := range []string{string(row.Body), row.Why(), string(row.Current().Waiting),
			strings.Join(row.Missing, " "), row.Hash} {
			checkText(r, "the row of "+string(row.ID), s)
		}
	}
	for i := range c.Actions {
		text, err := json.Marshal(&c.Actions[i])
		if err != nil {
			r.violate("L1", "a record cannot be stored: %v", err)
		}
		checkText(r, "the record of a run of "+string(c.Actions[i].Resource), string(text))
	}
	for i := range c.Parameters {
		checkText(r, "a fact", c.Parameters[i].Value)
	}
}
