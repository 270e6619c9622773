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
	t.moved = moves{to: map[resource.ID]resource.ID{}}
	checker := t.p.pl.Checker
	targets := model.TargetsOf(MergeAgents(t.base.Agents, t.agents(t.x.Model.Agents)), true)
	left := map[typedThing][]resource.ID{}
	for _, id := range slices.Sorted(maps.Keys(t.old)) {
		if _, stays := t.index[id]; stays {
			continue
		}
		things, _ := checker.ThingsOf(t.old[id], targets)
		for _, of := range things {
			key := typedThing{t.old[id].Type, of}
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
				if t.moved.to[id] != "" || shared && t.old[r.ID] != nil {
					continue
				}
				t.moved.to[id], out.asked[id], t.removed[id] = r.ID, true, true
				if shared {
					break
				}
			}
		}
	}
}

// require replaces moved ids in the requirements of the base.
func (t *targeted) require() {
	for id := range t.moved.to {
		if !t.removed[id] { // an instance of a service has it
			delete(t.moved.to, id)
		}
	}
	if len(t.moved.to) == 0 {
		return
	}
	for _, r := range t.old {
		for _, list := range []*[]resource.ID{&r.Requires, &r.Subscriptions} {
			*list = t.moved.moved(*list)
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
}

// gather completes the targeted resources, which are all of m, and the resources that stay, by the
// paths that all of them keep. It returns the resources that stay and have changed by that.
func (t *targeted) gather(m *model.Model, agents agentSet) map[resource.ID]bool {
	all := slices.Clone(m.Resources)
	for _, r := range t.kept {
		all = append(all, *r)
	}
	t.p.pl.Checker.Gather(&model.Model{Resources: all, Agents: agents.list})
	copy(m.Resources, all)
	again := map[resource.ID]bool{}
	for i, r := range t.kept {
		now := all[len(m.Resources)+i].Attributes
		if !resource.Equal(r.Attributes, now) {
			r.Attributes, again[r.ID] = now, true
		}
	}
	return again
}
