package deploy

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// relate adds to resources what their types say that they are tied to, as far as it is among them, and sorts requirements. byID are
// their indexes. Who is to be told of changes hears them of that one alone, and nobody else does unless an author has said that it sends events; an
// author can still say that it does not receive them. What was found so in an earlier model is found anew.
func (e *Engine) relate(resources []resource.Resource, byID map[resource.ID]int) {
	for i := range resources {
		resources[i].Heard, resources[i].Hears = false, nil
	}
	hear := func(r, of *resource.Resource) { r.Hears, of.Heard = append(r.Hears, of.ID), true }
	for i := range resources {
		r := &resources[i]
		for _, to := range e.related(r) {
			j, ok := byID[to.ID]
			if !ok || j == i {
				continue
			}
			other := &resources[j]
			switch to.Kind {
			case schema.Subscribe:
				hear(r, other)
				fallthrough
			case schema.Require:
				r.Requires = append(r.Requires, other.ID)
			case schema.Notify:
				hear(other, r)
				fallthrough
			case schema.Before:
				other.Requires = append(other.Requires, r.ID)
			}
		}
	}
	for i := range resources {
		r := &resources[i]
		slices.Sort(r.Requires)
		r.Requires = slices.Compact(r.Requires)
		slices.Sort(r.Hears)
		r.Hears = slices.Compact(r.Hears)
	}
}

// related returns what a resource is tied to by its type.
func (e *Engine) related(r *resource.Resource) []schema.Related {
	t, ok := e.Types.Type(r.Type)
	if !ok || !t.HasRelations() {
		return nil
	}
	return t.Related(r.Agent, r.Attributes)
}

// tied reports whether a requires b because of the type of one of them.
func (e *Engine) tied(a, b *resource.Resource) bool {
	for _, to := range e.related(a) {
		if to.ID == b.ID && (to.Kind == schema.Require || to.Kind == schema.Subscribe) {
			return true
		}
	}
	for _, to := range e.related(b) {
		if to.ID == a.ID && (to.Kind == schema.Before || to.Kind == schema.Notify) {
			return true
		}
	}
	return false
}

// byNature says which requirements of a cycle need not have been written by anybody; "" for none.
func (e *Engine) byNature(resources []resource.Resource, cycle []int32) string {
	var out []string
	for i, n := range cycle {
		a, b := &resources[n], &resources[cycle[(i+1)%len(cycle)]]
		if e.tied(a, b) {
			out = append(out, fmt.Sprintf("%s requires %s by the nature of its type", a.ID, b.ID))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, ", ")
}
