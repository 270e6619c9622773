package aws

import (
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// happened counts an event of a kind in a run. It counts only events that actually occurred at the
// port, and not events that were merely drawn.
func (r *run) happened(kind string) { r.kinds[kind]++ }

// happenedIf counts an event if a condition holds.
func (r *run) happenedIf(is bool, kind string) {
	if is {
		r.happened(kind)
	}
}

// happenedInAll counts the operations of a run, with their inputs and outcomes, and their writes.
func happenedInAll(r *run) {
	for _, o := range r.ops {
		r.happened(o.name + ": " + ended(o))
		r.happenedIf(o.total > 1, o.name+" takes effect more than once")
		if c, is := o.in.(state.Commit); is {
			happenedIn(r, &c)
			out, _ := o.out.(state.Committed)
			r.happenedIf(len(out.Conflicts) > 0, "commit finds conflicts")
			r.happenedIf(len(c.Next) > 0 && o.ret >= 0 && o.err == nil &&
				!out.Started, "claim refused")
			r.happenedIf(out.Started, "claim accepted")
			r.happenedIf(out.Paused, "agent is paused")
		}
	}
	for _, e := range r.log {
		r.happenedIf(e.begins > 0, "commit is rolled forward")
		r.happenedIf(e.kind == wrote && e.purpose.Name != "", "written: "+e.purpose.Name)
	}
}

// ended returns the outcome of an operation.
func ended(o *op) string {
	switch {
	case o.ret < 0:
		return "lost with its process"
	case o.err == nil:
		return "ok"
	}
	return string(fault.KindOf(o.err))
}

// happenedIn counts the parts of a commit.
func happenedIn(r *run, c *state.Commit) {
	lanes := map[string]bool{}
	for i := range c.Rows {
		row := &c.Rows[i]
		lanes[row.Lane] = true
		r.happenedIf(row.Gone, "row goes")
		r.happenedIf(!row.Timer().IsZero(), "row with a timer")
		r.happenedIf(row.Orphaned, "row is orphaned")
	}
	by := "worker's commit"
	if c.Guard.Key == "plan" {
		by = "planner's commit"
		r.happenedIf(len(lanes) > 1, by+" of several lanes")
	}
	for what, is := range map[string]bool{
		"rows": len(c.Rows) > 0, "a claim": len(c.Next) > 0, "checks": len(c.Checked) > 0,
		"actions": len(c.Actions) > 0, "a new entry": len(c.AddOutbox) > 0,
		"a dropped entry": len(c.DropOutbox) > 0, "parameters": len(c.Parameters) > 0,
		"dropped parameters": len(c.DropParameters) > 0, "the environment": c.Env != nil,
		"a version": c.Version != nil, "forgotten versions": len(c.Forget) > 0,
		"agents": len(c.Agents) > 0, "the end of a wave": c.WaveDone > 0,
		"a longer lease":   !c.Until.IsZero(),
		"another schedule": c.Plan, "nothing but the schedule": c.Plan && len(c.Rows) == 0 &&
			c.Env == nil,
	} {
		r.happenedIf(is, by+" has "+what)
	}
}

// happenedLate counts conflicts that a roll-forward finds late: rows that fit when the commit
// begins, and no longer fit when their lanes are written.
func (w *witness) happenedLate(v *version, c *state.Commit, conflicts []state.Row) {
	late := false
	for i := range c.Rows {
		row := &c.Rows[i]
		if has(conflicts, row.ID) {
			now, _ := v.state.Rows(bg, env, []resource.ID{row.ID})
			late = late || len(now) == 0 && row.Rev == 0 || len(now) == 1 && now[0].Rev == row.Rev
		}
	}
	w.r.happenedIf(late, "conflict comes late")
	w.r.happenedIf(late &&
		len(c.DropOutbox) > 0, "conflict comes late, and entries are to be dropped")
	w.r.happenedIf(late && len(c.Checked) > 0, "conflict comes late, and rows are to be checked")
}
