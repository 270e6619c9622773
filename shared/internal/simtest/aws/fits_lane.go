package aws

import (
	"reflect"
	"slices"

	"southbound/shared/deploy/state"
)

// laneRowsFit reports whether rows are those of a lane in one version: all rows, or those with a
// ticket.
func laneRowsFit(vs []*version, lane string, all bool, out []state.Row) bool {
	return some(vs, func(v *version) bool {
		want := v.query().lanes[lane]
		if !all {
			want = slices.DeleteFunc(slices.Clone(want),
				func(r state.Row) bool { return r.Ticket() == 0 })
		}
		return sameRows(want, out)
	})
}

// laneFits reports whether the result of Lane is explained. Each part has to be explained as if it
// were read alone, and the schedule only for lanes of the agent.
func (j *judge) laneFits(o *op, out state.Lane) bool {
	in, vs := o.in.(laneIn), j.whole(o)
	agent := state.AgentOf(in.lane)
	return some(vs, func(v *version) bool { return reflect.DeepEqual(v.query().env, out.Env) }) &&
		planFits(vs, out.Schedule, instantOf(out.Schedule), func(v *view, lane string) bool {
			return state.AgentOf(lane) != agent || laneScheduled(v, lane, out.Schedule)
		}) &&
		agentFits(vs, agent, out.Agent) && laneRowsFit(vs, in.lane, in.all, out.Rows)
}

// agentFits compares an agent. Its pause may be that of another version, because it is read
// separately.
func agentFits(vs []*version, name string, out state.Agent) bool {
	return some(vs, func(list *version) bool {
		return some(vs, func(paused *version) bool {
			want := list.query().agents[name]
			if want.Paused = paused.query().agents[name].Paused; want.Paused {
				want.Name = name
			} else if want.Transport == "" {
				want = state.Agent{}
			}
			return reflect.DeepEqual(want, out)
		})
	})
}
