package model

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// FoundID returns the id of a thing that a handler has found; false if a naming attribute is
// missing or cannot be part of an id.
func FoundID(typ *schema.Compiled, agent string, attributes map[string]any) (resource.ID, bool) {
	keys := make([]resource.Key, 0, len(typ.Namevars()))
	for _, name := range typ.Namevars() {
		v, err := resource.FromGo(attributes[name])
		text, ok := resource.KeyText(v)
		if err != nil || !ok {
			return "", false
		}
		keys = append(keys, resource.Key{Name: name, Value: text})
	}
	return resource.NewID(typ.Name, agent, keys...), true
}
