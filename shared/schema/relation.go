package schema

import (
	"path"
	"slices"
	"strings"

	"southbound/shared/resource"
)

// RelationKind states how two resources are related because of the type of one of them.
type RelationKind string

// The kinds, as seen from the resource whose type declares them.
const (
	Require   RelationKind = "require"   // the other resource runs first
	Before    RelationKind = "before"    // the other resource runs later
	Subscribe RelationKind = "subscribe" // the other resource runs first and sends its changes
	Notify    RelationKind = "notify"    // the other resource runs later and receives changes
)

// RelationKinds returns all kinds.
func RelationKinds() []RelationKind { return []RelationKind{Require, Before, Subscribe, Notify} }

// Relation declares the resources to which a resource of this type is related. Those that are not
// in the model are ignored.
//
// Texts are templates over attributes: $name or ${name} is replaced by the value of an attribute,
// ${name.member} by a member of a Hash, $$ by a dollar sign. ${name|dir} and ${name|base} are the
// parts of a path; ${name|lower} and ${name|upper} change the case. A list, also a nested one,
// yields one resource per item. An attribute without a value, or with a reference, yields no
// resource.
type Relation struct {
	Kind RelationKind
	Type string // of the other resource
	// Titles name the other resources, in the title syntax of their type; either these or Keys.
	Titles []string
	// Keys are the naming attributes of the other resource.
	Keys map[string]string
	// Names returns the naming attributes of each of the other resources, from complete attributes,
	// where templates do not suffice. It replaces Titles and Keys, and is available only in a
	// declaration in Go. While a model has problems, the invalid attributes are left out.
	Names func(attributes map[string]any) []map[string]any
	// Agent is the agent of the other resource; "" means the same agent.
	Agent string
}

// Related is a resource to which another resource is related.
type Related struct {
	Kind RelationKind
	ID   resource.ID
}

// Related returns the resources to which a resource of this type is related. They need not exist,
// and may include the resource itself.
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

// relation is a Relation with parsed templates.
type relation struct {
	kind   RelationKind
	target *Compiled // nil: no resource of that type can exist
	titles []template
	keys   []keyTemplate
	names  func(attributes map[string]any) []map[string]any // nil: titles or keys are used
	agent  template
}

type keyTemplate struct {
	name string
	text template
}

// targets returns the ids of the other resources.
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

// named returns the naming attributes from Keys. If one of them is a list, it returns one set for
// each item.
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

// template is a text with references to attributes.
type template []piece

// piece is literal text or a reference to an attribute.
type piece struct {
	text   string
	path   []string // the attribute, and the members inside it
	filter string
	change func(string) string // the filter; nil: none
}

// filters returns the functions that transform the value of an attribute in a template.
func filters() map[string]func(string) string {
	return map[string]func(string) string{"dir": path.Dir, "base": path.Base,
		"lower": strings.ToLower, "upper": strings.ToUpper}
}

// expand returns the distinct texts that a template yields, in order.
func (t template) expand(attributes map[string]any) []string {
	if len(t) == 1 && t[0].path != nil {
		if texts := t[0].values(attributes); len(texts) < 2 { // the usual case
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

// values returns the scalars in the value of an attribute, as text.
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
