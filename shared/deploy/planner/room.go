package planner

import (
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// makeRoom returns the nodes of a graph: what a version holds, and what is being removed because it
// left the model. What stands for the same thing as something that leaves, such as a directory for
// the path of a file, waits until that is gone.
//
// What leaves waits in turn for all that required it. Where that stays, and requires by now what
// takes the place, it would wait for itself: then it is what leaves that goes first.
func (pl *Config) makeRoom(
	kept []version.Node,
	resources []*resource.Resource,
	leaving []version.Node,
	rows map[resource.ID]*state.Row,
	targets model.Targets,
) []version.Node {
	left := map[model.Thing]resource.ID{}
	for _, n := range leaving {
		res, err := resource.Decode(rows[n.ID].Body)
		if err != nil {
			continue // it says so when it is run
		}
		if things, shared := pl.Checker.ThingsOf(res, targets); !shared {
			for _, of := range things {
				left[of] = n.ID
			}
		}
	}
	all := append(slices.Clone(kept), leaving...)
	if len(left) == 0 {
		return all
	}
	for i, res := range resources {
		things, _ := pl.Checker.ThingsOf(res, targets)
		for _, of := range things {
			if id, ok := left[of]; ok {
				all[i].Requires = append(slices.Clip(all[i].Requires), id)
			}
		}
	}
	return version.WithoutCircles(all)
}
