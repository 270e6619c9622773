package planner

import (
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/resource"
)

// takeAlong finds the resources of the base whose things have other ids in the documents. If the
// export selects the new id, the old one leaves with it.
func (t *targeted) takeAlong(out *targets) {
	t.Moved = map[resource.ID]resource.ID{}
	checker := t.p.pl.Checker
	targets := model.TargetsOf(MergeAgents(t.base.Agents, t.agents(t.x.Model.Agents)), true)
	left := map[typedThing][]resource.ID{}
	for _, id := range slices.Sorted(maps.Keys(t.was)) {
		if _, stays := t.index[id]; stays {
			continue
		}
		things, _ := checker.ThingsOf(t.was[id], targets)
		for _, of := range things {
			key := typedThing{t.was[id].Type, of}
			left[key] = append(left[key], id)
		}
	}
	if len(left) == 0 {
		return
	}
	targets = model.TargetsOf(t.x.Model.Agents, true)
	for _, i := range t.mine {
		r := &t.x.Model.Resources[i]
		things, shared := checker.ThingsOf(r, targets)
		for _, of := range things {
			for _, id := range left[typedThing{r.Type, of}] {
				if t.Moved[id] != "" || shared && t.was[r.ID] != nil {
					continue
				}
				t.Moved[id], out.asked[id], t.Drop[id] = r.ID, true, true
				if shared {
					break
				}
			}
		}
	}
}
