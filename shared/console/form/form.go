// Package form derives forms from the definitions of services, without HTTP.
//
//	definition + values ── Draft ── View ──► controls
//	posted values ── Read ── Values ──► attributes ── Edits ──► edits of an instance
//
// A Draft holds the content of a form as it was typed, so that a form with mistakes is shown again
// unchanged. The name of a control is the JSON pointer to its value, such as /routers/0/name. Read
// walks the definition and refuses every other name, but for these:
//
//	null=POINTER      the value is not set
//	unset=POINTER     the form was shown with a value that is not set
//	empty=POINTER     the text is empty on purpose
//	item=POINTER      there is a row or a member here
//	kept:POINTER=KEYS a member of the instance is here; a JSON array of its keys
//	key:POINTER=KEY   the key of a row of a dict
//	json=POINTER      the value is written as JSON
//
// Buttons are named add, remove, up, down and as, with a pointer as value (Press). The control
// POINTER/- of a list takes further items, one a line.
//
//	form.go      forms, and who may change a value
//	draft.go     the content of a form, from attributes
//	read.go      the content of a form, from posted values
//	press.go     buttons that change rows
//	values.go    attributes from the content of a form
//	numbers.go   numbers and values of enums as text
//	check.go     the rules of the definition
//	edits.go     edits from attributes
//	text.go      attributes as JSON, with the places of mistakes
//	view.go      controls of a form
//	fields.go    controls of values
//	words.go     rules in words
//	annotated.go suggestions, units and tabs from annotations
package form

import (
	"slices"
	"strconv"
	"strings"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Form is the form of a service: to order an instance, or to change one.
type Form struct {
	Service *definition.Service
	// Base holds the attributes of the instance to change: its candidate set, or else its active
	// set. It is nil for a new instance.
	Base map[string]any
}

// mood is the treatment of a value in a form.
type mood int

const (
	hidden mood = iota // a new instance or member: the form does not ask for it
	fixed              // shown as text
	asked
	locked // members stay, but attributes in them may change
)

// scope is the place of a part in a form.
type scope struct {
	top   bool // the part is the service itself
	fresh bool // the instance or the member is new
}

// attribute returns the treatment of an attribute or a relation to a service.
func (f *Form) attribute(m definition.Modifier, in scope) mood {
	switch {
	case m == definition.ReadOnly && in.fresh:
		return hidden
	case m == definition.ReadOnly:
		return fixed
	case m == definition.Once && !in.fresh && f.rules(in):
		return fixed
	}
	return asked
}

// rules reports whether modifiers apply: always to the service, and with strict modifiers to members.
func (f *Form) rules(in scope) bool { return in.top || f.Service.Strict }

// embedded returns the treatment of a relation to embedded entities.
func (f *Form) embedded(e *definition.Embedded, in scope) mood {
	out := f.attribute(e.Modifier, in)
	keyed := len(e.KeyAttributes) > 0 || !e.Many()
	if out == fixed && e.Modifier == definition.Once && f.Service.Strict && keyed {
		return locked
	}
	return out
}

// field is a value of a part: exactly one of its three is set.
type field struct {
	name      string
	attribute *definition.Attribute
	embedded  *definition.Embedded
	relation  *definition.Relation
	mood      mood
	at        string // JSON pointer
}

// fields returns the values of a part in the order of the form: the identity, attributes, embedded
// entities and relations. base holds the earlier values of the part; nil if it is new.
func (f *Form) fields(p *definition.Part, at string, base map[string]any, in scope) []field {
	var out []field
	for i := range p.Attributes {
		a := &p.Attributes[i]
		m := f.attribute(a.Modifier, in)
		if m == asked && !in.top && !in.fresh && slices.Contains(p.KeyAttributes, a.Name) {
			m = fixed // another key is another member
		}
		out = append(out, field{name: a.Name, attribute: a, mood: m})
	}
	if id := f.Service.Identity; in.top && id != nil {
		slices.SortStableFunc(out, func(a, b field) int { return first(*id, a.name, b.name) })
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		out = append(out, field{name: e.Name, embedded: e, mood: f.embedded(e, in)})
	}
	for i := range p.Relations {
		r := &p.Relations[i]
		out = append(out, field{name: r.Name, relation: r, mood: f.attribute(r.Modifier, in)})
	}
	for i := range out {
		out[i].at = at + "/" + escaped(out[i].name)
		if _, had := base[out[i].name]; !had && (out[i].mood == fixed || out[i].mood == locked) {
			out[i].mood = unset(&out[i])
		}
	}
	return out
}

// unset returns the treatment of a value that the customer may not change, and that the instance
// lacks: an earlier definition did not have it, so the customer may set it.
func unset(one *field) mood {
	var m definition.Modifier
	switch {
	case one.attribute != nil:
		m = one.attribute.Modifier
	case one.embedded != nil:
		m = one.embedded.Modifier
	default:
		m = one.relation.Modifier
	}
	if m == definition.ReadOnly {
		return hidden
	}
	return asked
}

// first orders name before all others.
func first(name, a, b string) int {
	switch {
	case a == name && b != name:
		return -1
	case b == name && a != name:
		return 1
	}
	return 0
}

// root returns the scope of the service.
func (f *Form) root() scope { return scope{top: true, fresh: f.Base == nil} }

// escaped returns a name as a token of a JSON pointer.
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// item returns the pointer to an item of a list.
func item(at string, i int) string { return at + "/" + strconv.Itoa(i) }

// shape is the kind of a single value in a form.
type shape int

const (
	shapeText shape = iota
	shapeBool
	shapeNumber
	shapeChoice
	shapeDict
	shapeJSON
)

// shapeOf returns the shape of a value of an attribute, for a list that of its items.
func shapeOf(a *definition.Attribute) shape {
	base := a.Base()
	if len(choices(a)) > 0 && base != "dict" && base != "list" {
		return shapeChoice
	}
	switch base {
	case "bool":
		return shapeBool
	case "string":
		return shapeText
	case "int", "float", "number":
		return shapeNumber
	case "dict":
		if !a.List() {
			return shapeDict
		}
	}
	return shapeJSON
}

// choices returns the values of an enum; none if the attribute is none.
func choices(a *definition.Attribute) []any {
	if a.ValidationType == nil {
		return nil
	}
	kind := strings.TrimSuffix(strings.TrimSuffix(*a.ValidationType, "?"), "[]")
	values, _ := a.ValidationParam["values"].([]any)
	if kind != "enum" {
		return nil
	}
	var out []any
	for _, v := range values {
		_, isText := v.(string)
		_, isNumber := numberText(v)
		_, isBool := v.(bool)
		switch a.Base() {
		case "string":
			isNumber, isBool = false, false
		case "bool":
			isText, isNumber = false, false
		default:
			isText, isBool = false, false
		}
		if isText || isNumber || isBool {
			out = append(out, v)
		}
	}
	return out
}

// member returns the earlier state of a member with keys; nil if there is none, or several.
func member(e *definition.Embedded, base any, keys []string) map[string]any {
	if one, is := base.(map[string]any); is {
		if !e.Many() && sameKeys(e, one, keys) {
			return one
		}
		return nil
	}
	list, _ := base.([]any)
	var out map[string]any
	for _, v := range list {
		m, is := v.(map[string]any)
		if !is || !e.Many() || len(e.KeyAttributes) == 0 || !sameKeys(e, m, keys) {
			continue
		}
		if out != nil {
			return nil
		}
		out = m
	}
	return out
}

func sameKeys(e *definition.Embedded, m map[string]any, keys []string) bool {
	return slices.Equal(keysOf(e, m), keys)
}

// keysOf returns the values of the keys of a member as text.
func keysOf(e *definition.Embedded, m map[string]any) []string {
	out := []string{}
	for _, k := range e.KeyAttributes {
		out = append(out, inventory.Text(m[k]))
	}
	return out
}
