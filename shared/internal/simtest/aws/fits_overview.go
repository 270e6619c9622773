package aws

import (
	"reflect"
	"slices"

	"southbound/shared/deploy"
)

// overviewFits reports whether an overview is explained: each part as if it were read alone, and
// the environment by one version. If the overview shows no remaining work, there must have been
// none in a version with that environment.
func overviewFits(vs []*version, out deploy.Overview) bool {
	same := slices.DeleteFunc(slices.Clone(vs),
		func(v *version) bool { return !reflect.DeepEqual(v.query().env, out.Env) })
	if len(same) == 0 || !waitingFits(vs, out) || !countsFit(vs, out.Counts) ||
		!leasesFit(vs, out.Leases) {
		return false
	}
	if !some(same, func(v *version) bool { return reflect.DeepEqual(pausedIn(v), out.Paused) }) {
		return false
	}
	if out.Outbox > 0 || len(out.Waiting)+len(out.Schedule.Unfinished) > 0 {
		return true
	}
	return some(same, func(v *version) bool {
		for _, r := range v.query().rows {
			if r.Ticket() != 0 {
				return false
			}
		}
		left, _ := v.state.Outbox(bg, env, 1)
		return len(left) == 0
	})
}

// waitingFits reports whether the schedule of an overview is explained. Its head, and the tickets
// of each lane, have to be those of one version each. If there is no work, they have to be of the
// same plan.
func waitingFits(vs []*version, out deploy.Overview) bool {
	may := samePlan
	if len(out.Waiting)+len(out.Schedule.Unfinished)+out.Outbox > 0 {
		may = func(*version, *version) bool { return true }
	}
	return planFits(vs, out.Schedule, may, func(v *view, lane string) bool {
		n := 0
		for _, r := range v.lanes[lane] {
			if r.Ticket() != 0 {
				n++
			}
		}
		return n == out.Waiting[lane] && unfinishedFits(v, lane, out.Schedule)
	})
}

// pausedIn returns the paused agents of a version.
func pausedIn(v *version) map[string]bool {
	out := map[string]bool{}
	for name, a := range v.query().agents {
		if a.Paused {
			out[name] = true
		}
	}
	return out
}
