package aws

import (
	"fmt"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// plan is a round of a planner: it takes the lease, reads the state, and commits changes.
func (a *actorState) plan(round int) {
	l, err := a.s.acquire("plan", a.holder(round))
	if err != nil {
		return
	}
	for range 1 + a.t.rng.IntN(2) {
		if !a.release(l) {
			return
		}
		l.Env = state.Env{}
	}
	a.leave(l)
}

// release commits a new version, or a part of one. If the lease is lost, it returns false.
func (a *actorState) release(l state.Lease) bool {
	var e state.Env
	var err error
	if l.Env.Name != "" && a.chance(50) {
		e = l.Env
	} else if e, err = a.s.env(); err != nil {
		return true
	}
	var rows []state.Row
	if a.chance(50) {
		rows, err = a.s.scanRows("", 100)
	} else {
		var ids []resource.ID
		for i := range a.r.plan.agents {
			for n := range a.r.plan.names {
				ids = append(ids, idOf(string(rune('a'+i)), n))
			}
		}
		if a.chance(50) {
			rows, err = a.s.rows(ids)
		} else {
			var out lookOut
			out, err = a.s.look(ids)
			rows = out.rows
		}
	}
	if err != nil {
		return true
	}
	c := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence}, Plan: a.chance(80)}
	a.change(&c, rows, e)
	a.besides(&c, e)
	_, err = a.s.commit(c)
	return !gone(err)
}

// change adds rows to a commit.
func (a *actorState) change(c *state.Commit, have []state.Row, e state.Env) {
	byID := map[resource.ID]state.Row{}
	for _, r := range have {
		byID[r.ID] = r
	}
	seen := map[resource.ID]bool{}
	for range a.t.rng.IntN(2 * a.r.plan.names) {
		id := a.anyID()
		if seen[id] {
			continue
		}
		seen[id] = true
		row, ok := byID[id]
		if !ok {
			row = state.Row{
				ID:     id,
				Intent: state.Intent{Lane: a.lane(id.Agent())},
				Outcome: state.Outcome{Compliance: state.HasUpdate, LastRun: state.RunNew,
					Blocked: state.NotBlocked},
			}
		}
		switch n := a.t.rng.IntN(100); {
		case ok && n < 10:
			row.Gone = true
		case ok && n < 30:
			row.Lane = a.lane(id.Agent())
		case ok && n < 35:
			row.Lane = a.lane(a.agent()) // to a lane of another agent
		case ok && n < 40:
			row.Orphaned = !row.Orphaned
		case ok && n < 45 && a.chance(50):
			row.Rev += 1 << 19 // a wrong revision, which no row ever reaches (see FirstRev)
		}
		if !ok || a.chance(60) {
			n := a.number()
			row.Version, row.Hash, row.Body, row.Compliance = e.Last+1, fmt.Sprintf("%08x", n),
				fmt.Appendf(nil, `{"n":%d}`, n), state.HasUpdate
		}
		if row.Generation = int64(a.number()); a.chance(20) || a.idles() {
			row.Observed = row.Generation
		}
		if a.chance(20) && !a.idles() {
			row.NextAt = a.r.now.Add(leaseTime)
		}
		c.Rows = append(c.Rows, row)
	}
	if a.chance(75) {
		c.Env = new(e)
	}
}

// besides adds everything but rows to a commit.
func (a *actorState) besides(c *state.Commit, e state.Env) {
	if c.Env == nil && a.chance(20) {
		c.Version = &state.Version{Number: e.Last + 1 + a.t.rng.IntN(2),
			Digest: fmt.Sprint(a.number())}
	}
	if c.Env != nil && a.chance(60) {
		c.Env.Last++
		c.Version = &state.Version{Number: c.Env.Last, Digest: fmt.Sprint(a.number())}
		if c.Env.Last > 2 && a.chance(50) {
			c.Forget = []int{c.Env.Last - 2, c.Env.Last - 1}[:1+a.t.rng.IntN(2)]
		}
	}
	if c.Env != nil && a.chance(30) && !a.idles() {
		c.Env.Wave = state.Wave{Epoch: e.Wave.Epoch + 1, At: a.r.now}
	}
	if a.chance(20) {
		c.Agents = []resource.Agent{{Name: a.agent(), Transport: fmt.Sprint(a.number()), Lanes: 2}}
	}
	if a.chance(30) {
		c.Parameters = []state.Parameter{{Name: fmt.Sprintf("p%d", a.t.rng.IntN(3)),
			Value: fmt.Sprint(a.number()), Source: "user", Updated: a.r.now}}
	}
	if a.chance(15) {
		c.DropParameters = []state.ParameterKey{{Name: fmt.Sprintf("p%d", 3+a.t.rng.IntN(2))},
			{Name: fmt.Sprintf("p%d", a.t.rng.IntN(3)), Of: "x"}}
	}
	if a.chance(30) && !a.idles() {
		c.AddOutbox = []state.Outbox{a.newEntry()}
	}
	if a.chance(25) {
		if have, err := a.s.outbox(); err == nil {
			for _, o := range have[:min(len(have), 2)] {
				c.DropOutbox = append(c.DropOutbox, o.ID)
			}
		}
	}
	if a.chance(20) {
		c.Actions = []state.Action{a.newAction(a.anyID(), e.Last)}
	}
}

func (d *dice) newEntry() state.Outbox {
	n := d.number()
	return state.Outbox{ID: fmt.Sprintf("%016x%04x", d.r.now.UnixNano(), n),
		Kind: state.OutboxEvent, Of: d.anyID(), At: d.r.now}
}

// idles reports whether the actor has to avoid due work. It does so only in quiet plans: always in
// calm phases, and four times in five otherwise.
func (a *actorState) idles() bool { return a.r.plan.quiet && (a.r.calm || a.chance(80)) }
