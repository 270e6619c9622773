package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// shelfHandler lists the existing objects of an agent. The engine caches the list during a run of a
// lane, and calls the other methods only for resources that the list does not show as intended.
type shelfHandler struct{ handler }

// shelf is a task's knowledge of a list of an agent.
type shelf struct {
	stamp  int           // when the list was made
	seen   int           // stamp of the lane's last claim before the list
	at     time.Duration // when the list was requested
	failed bool
	ended  int        // stamp of its end; 0: another lane may be making it
	told   bool       // an action records its failure
	by     *taskBooks // of the lane that made it
	forces int        // number of releases by then
	things map[resource.ID]parts
}

// List implements provider.Lister. A list takes time and may fail before or within it. It includes
// unmanaged objects, and may omit attributes.
func (h shelfHandler) List(c *provider.Context, found func(provider.Found) error) error {
	r, who := h.r, h.r.sched.cur
	agent := c.ID().Agent()
	checkShelf(r, who, agent)
	book := &shelf{stamp: r.stamp, seen: who.books.claimStamp, at: r.sched.now,
		forces: who.books.claimForces, failed: true, by: who.books}
	if who.hangs {
		book.at = who.began
	}
	if !who.books.orphaned {
		who.books.shelves[agent] = append(who.books.shelves[agent], book)
	}
	defer func() {
		r.stamp++
		book.ended = r.stamp
	}()
	hurryAlong(r)
	if r.faulty && r.sched.rng.Float64() < r.plan.faults.panics {
		r.happened("call panics")
		panic("panic in a list")
	}
	var things map[resource.ID]parts
	err := who.proc.call(c.Context, "list", &r.plan.faults.world, func() error {
		things = thingsAt(r, agent)
		r.stamp++
		book.stamp = r.stamp
		return nil
	})
	if err != nil {
		return err
	}
	left := len(things)
	if r.faulty && r.sched.rng.IntN(12) == 0 {
		left = r.sched.rng.IntN(left + 1) // then it fails
		r.happened("listing fails")
	}
	brief := r.sched.rng.IntN(6) == 0
	book.things = map[resource.ID]parts{}
	for _, id := range slices.Sorted(maps.Keys(things)) {
		if left--; left < 0 {
			return provider.Errorf(provider.Retryable, "the list ends in the middle")
		}
		attrs := things[id].attributes()
		attrs["name"] = nameOf(id)
		if brief {
			delete(attrs, "text")
		}
		book.things[id] = things[id]
		if err := found(provider.Found{Attributes: attrs}); err != nil {
			return err
		}
	}
	if left < 0 {
		return provider.Errorf(provider.Retryable, "the list ends in the middle")
	}
	book.failed = false
	r.tracef("%s: lists %d things at %s", who.name, len(things), agent)
	r.happened("listed")
	return found(provider.Found{Attributes: map[string]any{"name": "foreign", "v": int64(7)}})
}

// thingsAt returns the existing objects of an agent.
func thingsAt(r *run, agent string) map[resource.ID]parts {
	out := map[resource.ID]parts{}
	for id, t := range r.world.things {
		if p, there := t.observe(r.sched.now); there && id.Type() == typeShelf &&
			id.Agent() == agent {
			out[id] = p
		}
	}
	return out
}

// checkShelf checks that a worker lists an agent once, and never again after a failure. A second list
// is allowed if the agent has several lanes, or if it is outdated for several of the claimed resources.
func checkShelf(r *run, t *task, agent string) {
	all := t.books.shelves[agent]
	if len(all) == 0 || t.books.orphaned || !t.books.dry && !r.books.live(r, t) {
		return
	}
	before := all[len(all)-1]
	// another lane may begin a list while this one fails, but claims nothing for it afterwards
	known := before.by == t.books || before.ended < t.books.claimStamp
	if before.failed && before.ended != 0 && known {
		r.violate("list", "%s lists what is at %s once more, and that has failed before", t.name,
			agent)
	}
	if r.plan.mostLanes(agent) > 1 {
		return // the list may lack a change that another lane was making
	}
	old := 0
	for _, id := range t.books.claimed {
		if id.Type() == typeShelf && isOutdated(r, t, before, id) {
			old++
		}
	}
	if old < 2 {
		r.violate("list",
			"%s lists what is at %s once more, and of what it has claimed that is too old for %d",
			t.name, agent, old)
	}
}

// isOutdated reports whether a list may lack an event of an object that a task must know for its
// claim.
func isOutdated(r *run, t *task, list *shelf, id resource.ID) bool {
	c, known := t.books.claims[id]
	eff := t.books.effect
	asked := c.asked
	if c.waved {
		asked = max(asked, r.waved)
	}
	again := c.ticket == 1 // no generation says when it was asked for
	if !known || again || eff == nil || asked > list.seen || t.books.changes[id] > list.stamp {
		return true
	}
	i, known := eff.index[id]
	if !known {
		return true
	}
	// In a different graph, a requirement may come from a lane where another worker has changed it.
	e, released := r.state.read(env), len(r.books.inForce) != list.forces
	for j, q := range eff.ids {
		if eff.needs[i]&(1<<j) == 0 {
			continue
		}
		row, run := e.rows[q], t.books.runs[q]
		if released || row == nil || run != nil && run.acted || r.changedAt[q] > list.stamp ||
			r.since(row.LastAt) >= list.at {
			return true
		}
	}
	return false
}

// checkUnread checks an effect on an object, or a record of it, without an individual read: a
// complete and sufficiently new list must justify it.
func checkUnread(r *run, t *task, id resource.ID, what string) {
	why := "it has not read it"
	for _, list := range slices.Backward(t.books.shelves[id.Agent()]) {
		if list.failed {
			continue
		}
		if why = unlikeShelf(r, t, list, id, what); why == "" {
			return
		}
	}
	r.violate("list", "%s: %s of %s, and %s", t.name, what, id, why)
}

// unlikeShelf returns the reason why a list does not justify an effect or a record, or "" if it
// does.
func unlikeShelf(r *run, t *task, list *shelf, id resource.ID, what string) string {
	c, claimed := t.books.claims[id]
	if claimed {
		if why := listTooOld(r, t, id, list.stamp); why != "" {
			return "its list is older than " + why
		}
	}
	is, there := list.things[id]
	switch {
	case what == "create" && there:
		return "its list has shown it"
	case what == "delete" && !there:
		return "its list has not shown it"
	case what == "update":
		return "no list can say what it asks for"
	case what != recorded || !claimed:
		return ""
	}
	res, err := resource.Decode([]byte(c.body))
	if err == nil && (there == res.Purged || there && partsOf(res.Attributes).v != is.v) {
		return "its list has shown that it is not as wanted"
	}
	return ""
}

// bookShelves records runs without handler calls, for which a list was sufficient.
func bookShelves(r *run, t *task, c *state.Commit) {
	for i := range c.Actions {
		a := &c.Actions[i]
		if r.books.actions[a.ID] {
			continue // repeated, perhaps after a change in the same claim
		}
		switch a.Outcome {
		case state.StatusDeployed, state.StatusNonCompliant:
			bookShelf(r, t, c, a.Resource, a.Outcome == state.StatusDeployed)
		}
	}
	for _, id := range c.Checked {
		row, claimed := r.state.read(env).rows[id], t.books.claims[id]
		if row != nil && asWanted(row) && row.Rev == claimed.rev { // unchanged
			bookShelf(r, t, c, id, true)
		}
	}
}

func bookShelf(r *run, t *task, c *state.Commit, id resource.ID, asWanted bool) {
	if id.Type() != typeShelf || t.books.runs[id] != nil {
		return
	}
	r.happened("read from what is listed")
	have := t.books.run(id, r.sched.now)
	have.calls++
	row := r.state.read(env).rows[id]
	if i := slices.IndexFunc(c.Rows, func(o state.Row) bool { return o.ID == id }); i >= 0 {
		row = &c.Rows[i] // the stored row may have been removed
	}
	if row == nil {
		return
	}
	have.parts, have.purged = wantedOf(r, row) // the list is compared with this intent
	if r.books.live(r, t) {
		what := recorded
		if !asWanted {
			what = "a comparison"
		}
		checkUnread(r, t, id, what)
		checkReason(r, t, id, have)
	}
}

// recorded is the argument of checkUnread for a run without changes.
const recorded = "a record"

// checkWarned records that an action reports a failed list.
func checkWarned(r *run, t *task, a *state.Action) {
	if !slices.ContainsFunc(a.Messages,
		func(l provider.Line) bool { return strings.Contains(l.Msg, "cannot be listed") }) {
		return
	}
	for _, list := range t.books.shelves[a.Resource.Agent()] {
		list.told = true
	}
}

// checkShelvesTold checks that failed lists are recorded before a task continues with other work.
func checkShelvesTold(r *run, t *task) {
	for agent, all := range t.books.shelves {
		for _, list := range all {
			if list.failed && !list.told && list.by == t.books {
				r.violate("list", "%s could not list what is at %s, and no record says so", t.name,
					agent)
			}
		}
	}
}
