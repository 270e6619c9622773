package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// forgets adds operations to one plan in four that forget resources which may have left the model.
func (d *drawer) forgets(rng *rand.Rand) {
	p := d.p
	if rng.IntN(4) != 0 {
		return
	}
	for range 1 + rng.IntN(5) {
		s := d.pool[rng.IntN(len(d.pool))]
		o := op{At: time.Duration(rng.Int64N(int64(p.End))), kind: opForget, id: s.id}
		if rng.IntN(3) == 0 {
			o.agent, o.id = s.id.Agent(), ""
		}
		p.Ops = append(p.Ops, o)
	}
	slices.SortStableFunc(p.Ops, func(a, b op) int { return int(a.At - b.At) })
}

// forgetResource forgets a resource or an agent. The request may be rejected.
func forgetResource(r *run, p *process, o *op) {
	r.task(p, "Forget", func(t *task) error {
		t.books.forgets = true
		var err error
		if o.agent != "" {
			_, err = p.engine.ForgetAgent(taskContext{t}, env, o.agent)
		} else {
			_, err = p.engine.Forget(taskContext{t}, env, o.id)
		}
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) {
			return nil // still in the model, or unknown
		}
		return err
	})
}

// checkLetGo checks that a planner removes only rows that left the model, and only on request.
func checkLetGo(r *run, t *task, row, was *state.Row) {
	switch {
	case !row.Gone:
	case isMoved(r, row.ID):
		checkTaken(r, t, was)
	case !t.books.forgets:
		r.violate("D4", "%s removes %s, and nobody has asked for that", t.name, row.ID)
	case !was.Orphaned && !was.Removing:
		r.violate("D4", "%s removes %s, which is in the model", t.name, row.ID)
	default:
		r.books.forgotten[row.ID] = true
		r.books.mayKeep(row.ID, "")
		left := r.world.thing(row.ID) // its object is no longer managed
		left.drifted = true
		left.leave()
	}
}
