package deploy

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// gather completes resources whose types want that from the resources of the model that require them because of a type.
func (e *Engine) gather(m *Model) {
	dependents := map[resource.ID][]schema.Dependent{}
	for i := range m.Resources {
		r := &m.Resources[i]
		if t, ok := e.typeOf(r); ok && t.Gather != nil && t.Gathers(r.Attributes) {
			dependents[r.ID] = nil
		}
	}
	if len(dependents) == 0 {
		return
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, to := range e.related(r) {
			if list, ok := dependents[to.ID]; ok && to.ID != r.ID && to.Kind == schema.Require {
				dependents[to.ID] = append(list, schema.Dependent{Type: r.Type, Attributes: r.Attributes})
			}
		}
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		if list, ok := dependents[r.ID]; ok {
			t, _ := e.typeOf(r)
			r.Attributes = t.Gather(r.Attributes, list)
		}
	}
}
