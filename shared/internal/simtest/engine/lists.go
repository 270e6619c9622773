package engine

import (
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// listHandler reads objects from a list of all objects of an agent, which the session caches.
type listHandler struct{ handler }

// snapshot is such a list.
type snapshot struct {
	stamp  int // when it was made
	things map[resource.ID]parts
}

// hugeList exceeds the cache size of a session.
const hugeList = 65 << 20

// Read implements provider.Handler.
func (h listHandler) Read(
	c *provider.Context, req provider.ReadRequest,
) (out provider.Observation, err error) {
	err = h.act(c, "read", req.Resource, func(*thing) error {
		list, err := provider.Listed(c, provider.Key{Name: "all"}, h.list)
		if err != nil {
			return err
		}
		checkList(h.r, h.r.sched.cur, req.Resource.ID, list.stamp)
		if p, there := list.things[req.Resource.ID]; there {
			out = provider.Observation{Exists: true, Attributes: p.attributes()}
		}
		return nil
	})
	if err != nil {
		return provider.Observation{}, err
	}
	return out, nil
}

// list makes the list. It takes no time, so no task waits for an abandoned list.
func (h listHandler) list(c *provider.Context) (snapshot, int, error) {
	r := h.r
	r.stamp++
	out := snapshot{r.stamp, map[resource.ID]parts{}}
	for id, t := range r.world.things {
		if p, there := t.observe(r.sched.now); there && id.Type() == typeListed &&
			id.Agent() == c.ID().Agent() {
			out.things[id] = p
		}
	}
	r.happened("list made")
	switch n := r.sched.rng.IntN(12); {
	case n == 0 && r.faulty:
		r.happened("list fails")
		return snapshot{}, 0, provider.Errorf(provider.Retryable, "the list is not to be had")
	case n < 3:
		r.happened("list too large to be kept")
		return out, hugeList, nil
	}
	return out, 1000, nil
}

// listsAsked records when rows were requested, by a commit of a planner or by a check of
// everything.
func listsAsked(r *run, c *state.Commit, out *state.Committed, b before) {
	r.stamp++
	if c.Guard.Key != planKey {
		return
	}
	if c.Env != nil && c.Env.Wave.Epoch > b.env.Wave.Epoch {
		r.waved = r.stamp
	}
	written(c, out, func(row *state.Row) {
		if was := b.rows[row.ID]; row.Ticket() != was.Ticket() {
			r.asked[row.ID] = r.stamp
		}
	})
}

// listChanged records that a task with a valid lease has changed an object.
func listChanged(r *run, t *task, id resource.ID) {
	r.stamp++
	r.changedAt[id] = r.stamp
	if t.books.changes == nil {
		t.books.changes = map[resource.ID]int{}
	}
	t.books.changes[id] = r.stamp
}

// checkList checks the age of a list from which an object is read. It must be newer than the
// request for the resource, and newer than all changes that the run must see.
func checkList(r *run, t *task, id resource.ID, made int) {
	if _, claimed := t.books.claims[id]; t.books.dry || !claimed || !r.books.live(r, t) {
		return
	}
	if why := listTooOld(r, t, id, made); why != "" {
		r.violate("list", "%s reads %s from a list that is older than %s", t.name, id, why)
	}
}

// listTooOld describes an event that a run must see and that is newer than a list. This is a
// request, a change of the object by this task, or a change of a requirement before the claim. The
// requirements of a resource that was scheduled since the claim may be others: it runs again.
func listTooOld(r *run, t *task, id resource.ID, made int) string {
	c := t.books.claims[id]
	if made < c.asked {
		return "what asked for it"
	}
	if made < t.books.changes[id] {
		return "what it has done to it"
	}
	eff := t.books.effect
	if eff == nil || r.asked[id] > c.stamp {
		return ""
	}
	i, known := eff.index[id]
	for j, q := range eff.ids {
		if at := r.changedAt[q]; known && eff.needs[i]&(1<<j) != 0 && made < at && at <= c.stamp {
			return "a change of " + string(q) + ", which it requires"
		}
	}
	return ""
}
