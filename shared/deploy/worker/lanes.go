package worker

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
)

// Startable returns the lanes in which a row may start or a wave has to be ended, sorted. All other
// lanes wait for these lanes, whose workers notify them.
func Startable(
	ctx context.Context,
	from state.State,
	graphs *version.Graphs,
	env string,
) ([]string, error) {
	s, err := from.Schedule(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	lanes := map[string]bool{}
	for lane := range s.Unfinished {
		lanes[lane] = true
	}
	for _, t := range s.Tickets {
		lanes[t.Agent] = true
	}
	if len(lanes) > 1 {
		if err := dropWaiting(ctx, graphs, s, lanes); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(lanes)), nil
}

// dropWaiting removes lanes from lanes in which all scheduled rows wait for other lanes.
func dropWaiting(
	ctx context.Context, graphs *version.Graphs, s state.Schedule, lanes map[string]bool,
) error {
	g, err := graphs.Get(ctx, s.Graph)
	if err != nil {
		return err
	}
	scheduled, laneOf := make([]bool, len(g.IDs)), map[int32]string{}
	starts := map[string]bool{}
	for _, t := range s.Tickets {
		if n := g.Node(t.ID); n >= 0 {
			scheduled[n], laneOf[n] = true, t.Agent
		} else {
			starts[t.Agent] = true
		}
	}
	w := wavesOf(s)
	for n := range int32(len(g.IDs)) { // see Node
		if w.ask(g, n) && !scheduled[n] {
			scheduled[n], laneOf[n] = true, g.Agent(n)
		}
	}
	f := newFrontier(g, scheduled)
	waits := map[string]bool{}
	for n, lane := range laneOf {
		if waits[lane] = true; f.ready(n) {
			starts[lane] = true
		}
	}
	maps.DeleteFunc(lanes, func(lane string, _ bool) bool { return waits[lane] && !starts[lane] })
	return nil
}
