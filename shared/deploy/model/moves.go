package model

import "southbound/shared/resource"

// Leaving holds the resources that leave a version, by type and thing. If the type changes, the old
// thing is removed before the new one is created.
type Leaving map[typedThing][]*resource.Resource

type typedThing struct {
	Type string
	Thing
}

// Leaving returns resources that leave by their things; targets are those of the agents at which
// they would be removed.
func (c *Checker) Leaving(resources []*resource.Resource, targets Targets) Leaving {
	out := Leaving{}
	for _, r := range resources {
		things, _ := c.ThingsOf(r, targets)
		for _, of := range things {
			key := typedThing{r.Type, of}
			out[key] = append(out[key], r)
		}
	}
	return out
}

// Moved returns the resources that leave and whose thing r manages now, in the order given to
// Leaving, and whether any number of resources may manage that thing: see docs/design/things.md.
func (c *Checker) Moved(
	left Leaving, r *resource.Resource, targets Targets,
) (from []*resource.Resource, shared bool) {
	if len(left) == 0 {
		return nil, false
	}
	things, shared := c.ThingsOf(r, targets)
	for _, of := range things {
		from = append(from, left[typedThing{r.Type, of}]...)
	}
	return from, shared
}
