package planner

import (
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// withRemovals returns the nodes of a graph: the resources of a version, and resources that left the
// model and are being removed. If a resource manages the same thing as a leaving resource, it waits
// until the leaving one is gone. An example is a directory at the path of a file.
//
// A leaving resource waits for all resources that required it. If such a resource stays and now
// requires the successor, the leaving resource would wait for itself. Then the leaving resource
// goes first.
func (pl *Config) withRemovals(
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
			continue // its run reports that
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
