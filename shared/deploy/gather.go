package deploy

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// gather completes the resources of a whole model by those that require them by their nature, where their types want that.
func (e *Engine) gather(m *Model) {
	dependents := map[resource.ID][]schema.Dependent{}
	for i := range m.Resources {
		r := &m.Resources[i]
		if t, ok := e.Types.Type(r.Type); ok && t.Gather != nil && t.Gathers(r.Attributes) {
			dependents[r.ID] = nil
		}
	}
	if len(dependents) == 0 {
		return
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		t, ok := e.Types.Type(r.Type)
		if !ok || t.Relations == nil {
			continue
		}
		for _, text := range t.Relations(r.Agent, r.Attributes) {
			id := resource.ID(text)
			if list, ok := dependents[id]; ok && id != r.ID {
				dependents[id] = append(list, schema.Dependent{Type: r.Type, Attributes: r.Attributes})
			}
		}
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		if list, ok := dependents[r.ID]; ok {
			t, _ := e.Types.Type(r.Type)
			r.Attributes = t.Gather(r.Attributes, list)
		}
	}
}
