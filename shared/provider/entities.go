package provider

import (
	"cmp"

	"southbound/shared/entity"
	"southbound/shared/schema"
)

// Mapper returns the mapper that makes resources of the entities that definitions name; nil if they
// name none. It returns the errors of all definitions together.
func Mapper(types *schema.Registry, definitions []Definition) (*entity.Mapper, error) {
	var all []entity.Mapping
	for _, d := range definitions {
		for _, m := range d.Entities {
			m.Type = cmp.Or(m.Type, d.Type.Name)
			all = append(all, m)
		}
	}
	return entity.NewMapper(types, all)
}
