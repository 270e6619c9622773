package awssim

import (
	"reflect"
	"slices"

	"southbound/shared/deploy"
)

// overviewFits reports whether an overview is explained: its parts as those that are read alone,
// the environment of one instant; and where it says that nothing is left to do, nothing was at some
// moment while nothing else was planned.
func overviewFits(vs []*version, out deploy.Overview) bool {
	same := slices.DeleteFunc(slices.Clone(vs),
		func(v *version) bool { return !reflect.DeepEqual(v.query().env, out.Env) })
	if len(same) == 0 || !scheduleFits(vs, out.Schedule) || !countsFit(vs, out.Counts) ||
		!leasesFit(vs, out.Leases) {
		return false
	}
	if !some(same, func(v *version) bool { return reflect.DeepEqual(pausedIn(v), out.Paused) }) {
		return false
	}
	if out.Outbox > 0 || len(out.Schedule.Tickets)+len(out.Schedule.Unfinished) > 0 {
		return true
	}
	return some(same, func(v *version) bool {
		for _, r := range v.query().rows {
			if r.Ticket != 0 {
				return false
			}
		}
		left, _ := v.state.Outbox(bg, env, 1)
		return len(left) == 0
	})
}

// pausedIn returns the agents that are paused.
func pausedIn(v *version) map[string]bool {
	out := map[string]bool{}
	for name, a := range v.query().agents {
		if a.Paused {
			out[name] = true
		}
	}
	return out
}
