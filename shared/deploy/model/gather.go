package model

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Gather completes resources whose types require that from the paths that the other resources of
// the model keep on the same machine. References of agents and resources with known values must
// have been resolved.
func (c *Checker) Gather(m *Model) {
	var asking []int
	for i := range m.Resources {
		r := &m.Resources[i]
		if t, ok := c.Type(r); ok && t.Gather != nil && t.Gathers(r.Attributes) {
			asking = append(asking, i)
		}
	}
	if len(asking) == 0 {
		return
	}
	targets := TargetsOf(m.Agents, true)
	kept, first := map[string][]schema.Kept{}, make([]int, len(m.Resources)+1)
	for i := range m.Resources {
		r := &m.Resources[i]
		target := targetOf(r, targets)
		first[i] = len(kept[target])
		kept[target] = append(kept[target], keepsOf(c, r)...)
	}
	for _, i := range asking {
		r := &m.Resources[i]
		all, own := kept[targetOf(r, targets)], len(keepsOf(c, r))
		others := make([]schema.Kept, 0, len(all))
		others = append(append(others, all[:first[i]]...), all[first[i]+own:]...)
		t, _ := c.Type(r)
		r.Attributes = t.Gather(r.Attributes, others)
	}
}

// Gathers reports whether a resource is completed from others.
func (c *Checker) Gathers(r *resource.Resource) bool {
	t, known := c.Type(r)
	return !known || t.Gather != nil && t.Gathers(r.Attributes)
}
