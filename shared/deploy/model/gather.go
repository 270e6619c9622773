package model

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Gather completes resources whose types want that from the resources of the model that require
// them because of a type.
func (c *Checker) Gather(m *Model) {
	dependents := map[resource.ID][]schema.Dependent{}
	for i := range m.Resources {
		r := &m.Resources[i]
		if t, ok := c.Type(r); ok && t.Gather != nil && t.Gathers(r.Attributes) {
			dependents[r.ID] = nil
		}
	}
	if len(dependents) == 0 {
		return
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, to := range c.Related(r) {
			if list, ok := dependents[to.ID]; ok && to.ID != r.ID && to.Kind == schema.Require {
				dependents[to.ID] = append(
					list,
					schema.Dependent{Type: r.Type, Attributes: r.Attributes},
				)
			}
		}
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		if list, ok := dependents[r.ID]; ok {
			t, _ := c.Type(r)
			r.Attributes = t.Gather(r.Attributes, list)
		}
	}
}

// Gathers reports whether a resource is completed from others.
func (c *Checker) Gathers(r *resource.Resource) bool {
	t, known := c.Type(r)
	return !known || t.Gather != nil && t.Gathers(r.Attributes)
}
