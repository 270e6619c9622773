package source

import (
	"cmp"
	"fmt"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// span maps the text from a place to the next span to a resource and an attribute. Spans are
// recorded only in files with problems.
type span struct {
	at        place
	resource  resource.ID
	attribute string
}

// mark records a span, unless it follows all kept problems: an input of 100 MiB may have problems
// everywhere.
func (t *taker) mark(s span) {
	if len(t.list) < maxProblems || s.at.compare(t.last) <= 0 {
		t.spans = append(t.spans, s)
	}
}

// note records the spans of a resource and its attributes.
func (t *taker) note(r *taken) {
	id := t.likelyID(r)
	t.mark(span{at: r.node.at, resource: id})
	for i := range r.node.items {
		m := &r.node.items[i]
		t.mark(span{at: m.keyAt, resource: id})
		if m != r.attributes {
			continue
		}
		for j := range m.items {
			a := &m.items[j]
			t.mark(span{a.keyAt, id, a.key})
		}
	}
}

// likelyID returns the id that a resource has or most likely should have, on its first agent, so
// that its author recognizes it; "" if it is unknown.
func (t *taker) likelyID(r *taken) resource.ID { return t.likelyIDs(r)[0] }

// likelyIDs returns the likely id of a resource on each of its agents; one "" if it is unknown.
func (t *taker) likelyIDs(r *taken) []resource.ID {
	unknown := []resource.ID{""}
	typ, ok := t.loader.types.Type(r.typeName)
	if !ok {
		typ, ok = t.loader.types.Type(t.loader.types.Nearest(r.typeName))
	}
	if !ok || len(r.agents) == 0 || r.attributes == nil && r.title == nil {
		return unknown
	}
	attributes := scalars(r.attributes, typ)
	if r.title != nil && r.title.kind == scalar {
		titled, _ := typ.ReadTitle(fmt.Sprint(r.title.value))
		for name, v := range titled {
			if _, said := attributes[name]; !said {
				attributes[name] = v
			}
		}
	}
	keys, unnamed := typ.Keys(attributes)
	if unnamed != "" || !resource.ValidType(r.typeName) {
		return unknown
	}
	out := make([]resource.ID, len(r.agents))
	for i, agent := range r.agents {
		out[i] = resource.NewID(r.typeName, agent, keys...)
	}
	return out
}

// scalars returns the naming attributes whose values are scalars.
func scalars(attributes *node, typ *schema.Compiled) map[string]any {
	out := map[string]any{}
	for _, name := range typ.Namevars() {
		if m := attributes.get(name); m != nil && m.kind == scalar {
			out[name] = m.value
		}
	}
	return out
}

// blame sets the resource and attribute of each problem.
func (p *part) blame() {
	if p.clean() {
		return
	}
	slices.SortStableFunc(p.spans, func(a, b span) int { return a.at.compare(b.at) })
	for i := range p.list {
		q := &p.list[i]
		at := placeAt(q.Pos)
		if slices.Contains(p.broken, at) {
			continue
		}
		if len(q.Related) == 1 && q.Related[0].File == p.file {
			at = placeAt(q.Related[0].Pos) // the first of two members with one name
		}
		s := p.spanAt(at)
		if q.Resource == "" {
			q.Resource = string(s.resource)
		}
		if q.Attribute == "" {
			q.Attribute = s.attribute
		}
	}
}

// spanAt returns the last span that starts at or before a place.
func (p *part) spanAt(at place) span {
	n, _ := slices.BinarySearchFunc(p.spans, place{at.line, at.column + 1},
		func(s span, at place) int { return s.at.compare(at) })
	if n == 0 {
		return span{}
	}
	return p.spans[n-1]
}

func placeAt(p diag.Pos) place { return place{int32(p.Line), int32(p.Column)} } // texts are bounded

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

// forgive removes requirements on resources that are missing from a model only because they are
// incomplete. That problem has been reported.
func forgive(resources []resource.Resource, dropped []resource.ID) {
	if len(dropped) == 0 {
		return
	}
	gone := make(map[resource.ID]bool, len(dropped))
	for _, id := range dropped {
		gone[id] = true
	}
	there := make(map[resource.ID]bool, len(resources))
	for i := range resources {
		there[resources[i].ID] = true
	}
	for i := range resources {
		r := &resources[i]
		r.Requires = slices.DeleteFunc(r.Requires, func(id resource.ID) bool {
			return !there[id] && (gone[id] || gone[""])
		})
	}
}
