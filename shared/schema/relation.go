package schema

import (
	"path"
	"slices"
	"strings"

	"southbound/shared/resource"
)

// RelationKind says how two resources are related because of the type of one of them.
type RelationKind string

// The kinds, as seen from the resource whose type declares them.
const (
	Require   RelationKind = "require"   // the other comes first
	Before    RelationKind = "before"    // the other comes later
	Subscribe RelationKind = "subscribe" // the other comes first, and tells of its changes
	Notify    RelationKind = "notify"    // the other comes later, and is told of changes
)

// RelationKinds returns all kinds.
func RelationKinds() []RelationKind { return []RelationKind{Require, Before, Subscribe, Notify} }

// Relation declares which other resources a resource of this type is related to. Those that are not
// in the model are ignored.
//
// Texts are templates over attributes: $name or ${name} stands for the value of an attribute,
// ${name.member} for what is in a Hash, $$ for a dollar sign; ${name|dir} and ${name|base} are the
// parts of a path, ${name|lower} and ${name|upper} change letters. A list, also one in a list,
// stands for one resource an item. An attribute that has no value, or a reference for one, names
// nothing.
type Relation struct {
	Kind RelationKind
	Type string // of the other resource
	// Titles name the others, as their type reads titles; either these or Keys.
	Titles []string
	// Keys are the naming attributes of the other.
	Keys map[string]string
	// Names returns the naming attributes of each of the others, from complete attributes, where no
	// template can say them. It stands in place of Titles and Keys, and only in a declaration in
	// Go. While a model has problems, attributes that are wrong are left out.
	Names func(attributes map[string]any) []map[string]any
	// Agent is the other's; "" the resource's own.
	Agent string
}

// Related is a resource that another one is related to.
type Related struct {
	Kind RelationKind
	ID   resource.ID
}

// Related returns the resources that the relations of the type name for one resource of it. They
// need not exist, and may be the resource itself.
func (c *Compiled) Related(agent string, attributes map[string]any) []Related {
	var out []Related
	for i := range c.related {
		for _, id := range c.related[i].targets(agent, attributes) {
			out = append(out, Related{c.related[i].kind, id})
		}
	}
	return out
}

// HasRelations reports whether Related can return anything.
func (c *Compiled) HasRelations() bool { return len(c.related) > 0 }

// relation is a Relation that has been read.
type relation struct {
	kind   RelationKind
	target *Compiled // nil: nothing of that type can exist
	titles []template
	keys   []keyTemplate
	names  func(attributes map[string]any) []map[string]any // nil: titles or keys say it
	agent  template
}

type keyTemplate struct {
	name string
	text template
}

// targets returns the ids of the others.
func (r *relation) targets(agent string, attributes map[string]any) []resource.ID {
	if r.target == nil {
		return nil
	}
	agents := []string{agent}
	if r.agent != nil {
		agents = r.agent.expand(attributes)
	}
	var named []map[string]any
	for _, t := range r.titles {
		for _, title := range t.expand(attributes) {
			if keys, err := r.target.ReadTitle(title); err == nil {
				named = append(named, keys)
			}
		}
	}
	if r.names != nil {
		named = r.names(attributes)
	}
	if len(r.keys) > 0 {
		named = append(named, r.named(attributes)...)
	}
	var out []resource.ID
	for _, a := range agents {
		for _, attrs := range named {
			if keys, _ := r.target.Keys(attrs); keys != nil && resource.ValidAgent(a) {
				out = append(out, resource.NewID(r.target.Name, a, keys...))
			}
		}
	}
	return out
}

// named returns the naming attributes that Keys give, one set for each item where one of them is a
// list.
func (r *relation) named(attributes map[string]any) []map[string]any {
	out := []map[string]any{nil}
	for _, k := range r.keys {
		a, _ := r.target.Attribute(k.name)
		var next []map[string]any
		for _, text := range k.text.expand(attributes) {
			v, err := a.DataType.Coerce(text)
			if err != nil {
				continue
			}
			for _, before := range out {
				next = append(next, with(before, k.name, v))
			}
		}
		out = next
	}
	return out
}

func with(m map[string]any, key string, v any) map[string]any {
	if len(m) == 0 {
		return map[string]any{key: v}
	}
	out := make(map[string]any, len(m)+1)
	for k, w := range m {
		out[k] = w
	}
	out[key] = v
	return out
}

// template is a text with attributes in it.
type template []piece

// piece is literal text, or the attribute that stands there.
type piece struct {
	text   string
	path   []string // the attribute, and members in it
	filter string
	change func(string) string // what the filter does; nil: there is none
}

// filters change what a template takes from an attribute.
func filters() map[string]func(string) string {
	return map[string]func(string) string{"dir": path.Dir, "base": path.Base,
		"lower": strings.ToLower, "upper": strings.ToUpper}
}

// expand returns the different texts that a template stands for, in order.
func (t template) expand(attributes map[string]any) []string {
	if len(t) == 1 && t[0].path != nil {
		if texts := t[0].values(attributes); len(texts) < 2 { // as nearly always
			return texts
		}
	}
	out := []string{""}
	for _, p := range t {
		texts := []string{p.text}
		if p.path != nil {
			texts = p.values(attributes)
		}
		next := make([]string, 0, len(out)*len(texts))
		for _, before := range out {
			for _, text := range texts {
				next = append(next, before+text)
			}
		}
		out = next
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// values returns the scalars that an attribute has, as text.
func (p *piece) values(attributes map[string]any) []string {
	v := attributes[p.path[0]]
	for _, member := range p.path[1:] {
		m, _ := v.(map[string]any)
		v = m[member]
	}
	var out []string
	var walk func(v any)
	walk = func(v any) {
		if list, ok := v.([]any); ok {
			for _, e := range list {
				walk(e)
			}
			return
		}
		if text, ok := resource.KeyText(v); ok {
			if f := p.change; f != nil {
				text = f(text)
			}
			out = append(out, text)
		}
	}
	walk(v)
	return out
}
