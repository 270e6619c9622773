package catalog

import (
	"slices"

	"southbound/shared/lang/eval"
	"southbound/shared/service/definition"
)

// owners sets the owners of services.
func (c *collector) owners() {
	for i := range c.bindings {
		b := &c.bindings[i]
		owner, relation := one(b.named, "owner"), text(b.at, "relation_to_owner")
		if owner == nil && relation == "" {
			continue
		}
		if owner == nil || relation == "" {
			c.bad(b.at.Place("relation_to_owner"), "relation_to_owner", "set both, or neither",
				"%s has one of owner and relation_to_owner", b.name)
			continue
		}
		c.owned(b, text(owner, "service_entity_name"), relation)
	}
}

// owned makes a service one of an owner.
func (c *collector) owned(b *binding, owner, relation string) {
	for i := range c.out {
		s := &c.out[i]
		if s.Name != b.name || s.Version != b.version {
			continue
		}
		if !c.leads(s, owner, relation) {
			c.bad(b.at.Place("relation_to_owner"), "relation_to_owner",
				"write "+s.Entity+"."+relation+" [1] lsm::__service__ and the entity of the owner",
				"%s has no relation %s with exactly one %s", b.name, relation, owner)
			return
		}
		s.Owner, s.RelationToOwner = &owner, &relation
	}
	for i := range c.out {
		if s := &c.out[i]; s.Name == owner && !slices.Contains(s.OwnedEntities, b.name) {
			s.OwnedEntities = append(s.OwnedEntities, b.name)
			slices.Sort(s.OwnedEntities)
		}
	}
}

func (c *collector) leads(s *definition.Service, owner, relation string) bool {
	return slices.ContainsFunc(s.Relations, func(r definition.Relation) bool {
		return r.Name == relation && r.Service == owner && r.Lower == 1 && !r.Many()
	})
}

// offered returns the name of the only service that an entity is offered as.
func (c *collector) offered(e *relation) (string, bool) {
	names := c.offers[e.target]
	switch len(names) {
	case 1:
		return names[0], true
	case 0:
		c.bad(*e.at, e.name, "make a binding for it",
			"it leads to %s, which no binding offers as a service", e.target.FullName())
	default:
		c.bad(*e.at, e.name, "point the relation to an entity of one service",
			"it leads to %s, which is offered as several services: %s", e.target.FullName(),
			join(names))
	}
	return "", false
}

// found returns the instance behind an object.
func found(o any) *eval.Instance {
	i, _ := o.(*eval.Instance)
	return i
}
