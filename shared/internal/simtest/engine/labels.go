package engine

import (
	"math/rand/v2"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Labels are names of the same object. Two labels of an object have the ends of one pair: of one agent,
// or of two agents. A version contains at most one of them.
const (
	labelEnds = "lm"
	agentEnds = "vw"
)

// label returns the id of an object with a label.
func label(id resource.ID, agent, end string) resource.ID {
	name := strings.TrimRight(nameOf(id), labelEnds+agentEnds)
	return resource.NewID(typeLabel, agent, resource.Key{Name: "name", Value: name + end})
}

// partner returns the agent to which objects of an agent can move.
func partner(agent string) string {
	last := len(agent) - 1
	return agent[:last] + string(agent[last]^1)
}

// thingOf returns the id under which the world stores the object of a resource.
func thingOf(id resource.ID) resource.ID {
	if id.Type() != typeLabel {
		return id
	}
	agent := id.Agent()
	if strings.ContainsAny(nameOf(id), agentEnds) {
		agent = min(agent, partner(agent))
	}
	return label(id, agent, "")
}

// relabelled returns the id with the other label of the same object.
func relabelled(id resource.ID) resource.ID {
	switch name := nameOf(id); name[len(name)-1] {
	case agentEnds[0]:
		return label(id, partner(id.Agent()), agentEnds[1:])
	case agentEnds[1]:
		return label(id, partner(id.Agent()), agentEnds[:1])
	case labelEnds[0]:
		return label(id, id.Agent(), labelEnds[1:])
	}
	return label(id, id.Agent(), labelEnds[:1])
}

// labels adds the other label of the object to some resources.
func (d *drawer) labels(rng *rand.Rand) {
	for i := range d.pool {
		s := &d.pool[i]
		if s.id.Type() != typeLabel {
			continue
		}
		other := *s
		other.id, other.requires, other.mouth = relabelled(s.id), slices.Clone(s.requires), ""
		other.flags.PurgeOnDelete = rng.IntN(3) > 0
		d.pool, d.in = append(d.pool, other), append(d.in, false)
	}
}

// entryOf returns the id under which a version contains the object of a resource, or "".
func (c *content) entryOf(id resource.ID) resource.ID {
	switch other := otherOf(id); {
	case c.entries[id] != nil:
		return id
	case id.Type() == typeLabel && c.entries[other] != nil:
		return other
	}
	return ""
}

// checkTaken checks invariant T1 for states: the row of the new id has the last recorded state of
// the removed row.
func checkTaken(r *run, t *task, was *state.Row) {
	now := r.state.read(env).rows[relabelled(was.ID)]
	if !slices.Contains(now.EarlierIDs(), was.ID) {
		// a concurrent change: the row is still to be written. A forgotten orphan takes its state along.
		r.books.split[thingOf(was.ID)] = r.books.split[thingOf(was.ID)] || t.books.forgets
		return
	}
	if now.Deployed != was.Deployed || now.LastRun != was.LastRun && was.LastRun != state.RunSuccess ||
		!now.SucceededAt.Equal(was.SucceededAt) || !now.ChangedAt.Equal(was.ChangedAt) {
		r.violate("T1", "%s moves %s, and %s has not what is recorded of it: %q (%s, %s), not %q (%s, %s)",
			t.name, was.ID, now.ID, now.Deployed, now.LastRun, now.SucceededAt, was.Deployed,
			was.LastRun, was.SucceededAt)
	}
}

// moved returns ids with moved ones replaced by their new ids.
func (c *content) moved(ids map[resource.ID]bool) map[resource.ID]bool {
	out := make(map[resource.ID]bool, len(ids))
	for id := range ids {
		if now := c.entryOf(id); now != "" {
			id = now
		}
		out[id] = true
	}
	return out
}

// isMoved reports whether another id has taken over the object of a resource.
func isMoved(r *run, id resource.ID) bool {
	return id.Type() == typeLabel && r.state.read(env).rows[relabelled(id)] != nil
}

// leavesAs reports whether a version has the object of a resource under another id.
func leavesAs(c *content, id resource.ID) bool {
	if c == nil {
		return false
	}
	now := c.entryOf(id)
	return now != "" && now != id
}

// checkMoves checks invariant T1: an object that another id of the version manages is not removed.
func checkMoves(r *run, t *task, e *environment, c *state.Commit) {
	for _, id := range c.Next {
		row := e.rows[id]
		if row != nil && row.Removing && leavesAs(r.books.released, id) {
			r.violate("T1", "%s starts to purge %s, and version %d has its thing as %s", t.name, id,
				r.books.released.number, r.books.released.entryOf(id))
		}
	}
}

// checkAlone checks invariant D2 for objects: two ids of the same object are not changed
// concurrently.
func checkAlone(r *run, who *task, what string, id resource.ID) {
	if id.Type() != typeLabel || what == "read" {
		return
	}
	other := relabelled(id)
	for key, h := range r.books.leases {
		if h.by != who.books.worker && !h.freed && r.time().Before(h.until) &&
			slices.Contains(h.claimed, other) && r.state.read(env).rows[other] == nil &&
			slices.Contains(r.state.read(env).leases[key].Running, other) {
			r.violate("D2", "%s works on %s, while %s is still claimed in %s", who.name, id, other, key)
		}
	}
}
