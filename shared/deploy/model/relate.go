package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Relate adds the relations that follow from the types of resources and from references to facts and
// secret outputs, if both ends are among them, and sorts requirements. byID holds their indexes.
// Through a relation, a resource is notified of the changes of the other resource only. Authors decide whether other dependants are notified of
// them (send_event), and whether a resource is notified of any changes (receive_events).
// Subscriptions are computed again each time, since resources may come from an earlier version.
func (c *Checker) Relate(resources []resource.Resource, byID map[resource.ID]int) {
	for i := range resources {
		resources[i].Subscribed, resources[i].Subscriptions = false, nil
	}
	subscribe := func(r, of *resource.Resource) {
		r.Subscriptions = append(r.Subscriptions, of.ID)
		of.Subscribed = true
	}
	for i := range resources {
		r := &resources[i]
		for _, to := range c.Related(r) {
			j, ok := byID[to.ID]
			if !ok || j == i && learnedFrom(r, r.ID) == "" { // CheckCycles refuses one that waits for itself
				continue
			}
			other := &resources[j]
			switch to.Kind {
			case schema.Subscribe:
				subscribe(r, other)
				fallthrough
			case schema.Require:
				r.Requires = append(r.Requires, other.ID)
			case schema.Notify:
				subscribe(other, r)
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
		slices.Sort(r.Subscriptions)
		r.Subscriptions = slices.Compact(r.Subscriptions)
	}
}

// Related returns the relations that a resource has by its type and by its references to facts and
// to secret outputs. It requires the resources that learn these: see docs/design/facts.md.
func (c *Checker) Related(r *resource.Resource) []schema.Related {
	var out []schema.Related
	if t, ok := c.Type(r); ok && t.HasRelations() {
		out = t.Related(r.Agent, r.Attributes)
	}
	require := func(id resource.ID) {
		if to := (schema.Related{Kind: schema.Require, ID: id}); !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	for _, f := range r.Facts() {
		require(f.Of)
	}
	for _, o := range r.Outputs() {
		require(o.Of)
	}
	return out
}

// MeansTheSame reports whether two descriptions of a resource have the same meaning for other
// resources. Both have to manage the same thing, and both or neither describe it as a whole. They
// also have to change a part of the same thing, keep the same paths, and have the same relations by
// their type and by facts.
func (c *Checker) MeansTheSame(a, b *resource.Resource) bool {
	targets := TargetsOf(nil, false) // both have the same agent
	one, oneShared := c.ThingsOf(a, targets)
	other, otherShared := c.ThingsOf(b, targets)
	part, isPart := c.PartOf(a, targets)
	otherPart, otherIsPart := c.PartOf(b, targets)
	whole, _ := c.DescribesAll(a)
	otherWhole, _ := c.DescribesAll(b)
	return slices.Equal(one, other) && oneShared == otherShared && whole == otherWhole &&
		part == otherPart && isPart == otherIsPart &&
		slices.Equal(keepsOf(c, a), keepsOf(c, b)) &&
		slices.Equal(sortedRelations(c.Related(a)), sortedRelations(c.Related(b)))
}

func sortedRelations(list []schema.Related) []schema.Related {
	slices.SortFunc(list, func(a, b schema.Related) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// RequiresByType reports whether a requires b because of the type of one of them, or because a
// refers to a fact or a secret output of b.
func (c *Checker) RequiresByType(a, b *resource.Resource) bool {
	for _, to := range c.Related(a) {
		if to.ID == b.ID && (to.Kind == schema.Require || to.Kind == schema.Subscribe) {
			return true
		}
	}
	for _, to := range c.Related(b) {
		if to.ID == a.ID && (to.Kind == schema.Before || to.Kind == schema.Notify) {
			return true
		}
	}
	return false
}

// byNature returns text for a hint: the requirements of a cycle that follow from a type or from a
// reference to a fact or a secret output, so that no author has to have written them; "" if there
// are none.
func byNature(c *Checker, resources []resource.Resource, cycle []int32) string {
	var out []string
	for i, n := range cycle {
		a, b := &resources[n], &resources[cycle[(i+1)%len(cycle)]]
		learned := learnedFrom(a, b.ID)
		switch {
		case learned != "":
			out = append(out, fmt.Sprintf("%s refers to %s of %s", a.ID, learned, b.ID))
		case c.RequiresByType(a, b):
			out = append(out, fmt.Sprintf("%s requires %s by the nature of its type", a.ID, b.ID))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, ", ")
}

// learnedFrom names a fact or a secret output of another resource to which r refers; "": none.
func learnedFrom(r *resource.Resource, of resource.ID) string {
	for _, f := range r.Facts() {
		if f.Of == of {
			return fmt.Sprintf("fact %q", f.Name)
		}
	}
	for _, o := range r.Outputs() {
		if o.Of == of {
			return fmt.Sprintf("secret output %q", o.Path)
		}
	}
	return ""
}
