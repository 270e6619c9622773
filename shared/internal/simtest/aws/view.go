package aws

import (
	"context"
	"reflect"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// view is a version of the model, read once.
type view struct {
	env      state.Env
	rows     map[resource.ID]*state.Row
	lanes    map[string][]state.Row // ascending by id
	schedule state.Schedule
	leases   map[string]state.Lease
	agents   map[string]state.Agent
}

var bg = context.Background()

func (v *version) query() *view {
	if v.view != nil {
		return v.view
	}
	out := &view{rows: map[resource.ID]*state.Row{}, lanes: map[string][]state.Row{},
		leases: map[string]state.Lease{}}
	out.env, _ = v.state.Env(bg, env)
	all, _ := v.state.ScanRows(bg, env, "", 1<<30)
	for i := range all {
		r := &all[i]
		out.rows[r.ID] = r
		out.lanes[r.Lane] = append(out.lanes[r.Lane], *r)
	}
	out.schedule, _ = v.state.Schedule(bg, env)
	leases, _ := v.state.Leases(bg, env)
	for _, l := range leases {
		out.leases[l.Key] = l
	}
	out.agents, _ = v.state.Agents(bg, env)
	v.view = out
	return out
}

// some reports whether f is true for one of some versions.
func some(vs []*version, f func(v *version) bool) bool { return slices.ContainsFunc(vs, f) }

func sameRow(a, b *state.Row) bool {
	if a.ID != b.ID || a.Rev != b.Rev || a.Lane != b.Lane {
		return false
	}
	return reflect.DeepEqual(a, b)
}

func sameRows(a, b []state.Row) bool {
	return slices.EqualFunc(a, b, func(x, y state.Row) bool { return sameRow(&x, &y) })
}

// lanesOf returns the names of all lanes that had rows in some versions.
func lanesOf(vs []*version) []string {
	seen := map[string]bool{}
	for _, v := range vs {
		for lane := range v.query().lanes {
			seen[lane] = true
		}
	}
	out := make([]string, 0, len(seen))
	for lane := range seen {
		out = append(out, lane)
	}
	slices.Sort(out)
	return out
}

// moved reports whether a row was in more than one lane.
func moved(vs []*version, id resource.ID) bool {
	lane := ""
	for _, v := range vs {
		if r := v.query().rows[id]; r != nil {
			if lane != "" && lane != r.Lane {
				return true
			}
			lane = r.Lane
		}
	}
	return false
}

// hides returns work that a quiet time until a time would hide, or "".
func (v *version) hides(until time.Time) string {
	l := v.query()
	for _, r := range l.rows {
		switch {
		case r.Ticket() != 0:
			return "a ticket of " + string(r.ID)
		case !r.Timer().IsZero() && r.Timer().Before(until):
			return "a timer of " + string(r.ID)
		}
	}
	if out, _ := v.state.Outbox(bg, env, 1); len(out) > 0 {
		return "an entry of the outbox"
	}
	for lane := range l.schedule.Unfinished {
		return "a wave in " + lane
	}
	for key, lease := range l.leases {
		if lease.Holder != "" && len(v.side.running[key].must) > 0 {
			return "what runs in " + key
		}
	}
	return ""
}

// rest checks that the environment is not quiet while there is work and no operation in progress
// could still end the quiet time.
func (w *witness) rest(at int, e event) {
	if e.audit.Rest.IsZero() {
		return
	}
	for _, o := range w.r.ops {
		if o.call > at {
			break
		}
		over := o.ret >= 0 && o.ret < at || o.ret < 0 && o.end > 0 && o.end <= at
		if !over && (o.name == "Commit" || o.name == "Acquire" || o.name == "MarkQuiet") {
			return
		}
	}
	if what := w.now().hides(e.audit.Rest); what != "" {
		w.violate("rest", "the environment rests until %v, which hides %s", e.audit.Rest, what)
	}
}
