// Package inventory is what is known of the instances of services. What can be ordered and changed
// is decided here, without a store: by the definition of a service, and by what an instance has
// already.
//
//	inventory.go  orders and changes
//	check.go      values against a definition
//	values.go     values of attributes against their types
//	numbers.go    numbers as they are stored, and what they are worth
//	modifiers.go  who may change what
//	edits.go      changes that name what they change
//	path.go       paths into attributes
//	steps.go      from a record and an event to the change that is written
//	migrate.go    to another definition, with other attributes
//	rollout.go    to another definition and model, with the attributes that it has
//	replace.go    all attributes anew, and what experts edit
//	store.go      records, and the port that keeps them
//	changes.go    what stores refuse
//	generation.go what is chosen by looking at what others have
//	book.go       orders of several instances, the port that keeps them, and what became of them
package inventory

import (
	"encoding/json"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
)

// Codes of problems with attributes: the rule that is broken.
const (
	CodeUnknown  = "attribute_unknown"
	CodeMissing  = "attribute_missing"
	CodeType     = "attribute_type"
	CodeValue    = "attribute_value"
	CodeModifier = "attribute_modifier"
	CodeMembers  = "attribute_members"
	CodeEdit     = "edit"
	CodeTooLarge = "too_large"
)

// MaxAttributes is how many bytes of JSON a set of attributes may have. Three sets and a record fit
// into an item of the stores.
const MaxAttributes = 96 << 10

// Ordered returns the attributes of a new instance: those that a customer gives, with defaults for
// the others. Problems are diag.Problems with the path of the attribute.
func Ordered(s *definition.Service, given map[string]any) (map[string]any, error) {
	return checked(s, given, nil, Customer)
}

// Changed returns the attributes of an instance after a customer has given some of them anew.
// Members of lists keep what they had and is not said.
func Changed(s *definition.Service, is, given map[string]any) (map[string]any, error) {
	return changed(s, is, given, Customer)
}

func changed(
	s *definition.Service, is, given map[string]any, who Who,
) (map[string]any, error) {
	out, err := checked(s, given, is, who)
	if err != nil {
		return nil, err
	}
	if err := Allowed(s, is, out, who); err != nil {
		return nil, err
	}
	return out, nil
}

// Told returns the attributes of an instance after the model has said what a read-only one is.
func Told(
	s *definition.Service,
	is map[string]any,
	path string,
	value any,
) (map[string]any, error) {
	return edited(s, is, []Edit{{Operation: Replace, Target: path, Value: value}}, Model)
}

// checked checks all attributes.
func checked(
	s *definition.Service, given, is map[string]any, who Who,
) (map[string]any, error) {
	c := &checker{service: s, who: who}
	if c.size(given) {
		out := Typed(&s.Part, c.part(&s.Part, nil, given, is, true))
		if c.problems.Err() == nil && c.size(out) {
			return out, nil
		}
	}
	return nil, c.problems.Err()
}

// size refuses attributes that are too large to be stored.
func (c *checker) size(attributes map[string]any) bool {
	b, err := json.Marshal(attributes)
	switch {
	case err != nil:
		c.bad(nil, CodeType, "", "the attributes are not JSON: %v", err)
	case len(b) > MaxAttributes:
		name, n := largest(attributes)
		c.bad(Path{{Name: name}}, CodeTooLarge, "order several instances, or keep data elsewhere",
			"it has %d of the %d bytes of JSON of all attributes, which may have %d", n, len(b),
			MaxAttributes)
	default:
		return c.depth(attributes)
	}
	return false
}

// maxDepth is how many lists and maps may stand within each other in an attribute. Embedded
// entities take two each.
const maxDepth = 100

// depth refuses attributes that are nested so deeply that whoever reads them may not be able to.
func (c *checker) depth(attributes map[string]any) bool {
	ok := true
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if deeper(attributes[name], maxDepth) {
			c.bad(Path{{Name: name}}, CodeTooLarge, "make it flatter",
				"it has more than %d lists and maps within each other", maxDepth)
			ok = false
		}
	}
	return ok
}

// deeper reports whether more than n lists and maps stand within each other in a value.
func deeper(v any, n int) bool {
	switch v := v.(type) {
	case []any:
		return n == 0 || slices.ContainsFunc(v, func(v any) bool { return deeper(v, n-1) })
	case map[string]any:
		if n == 0 {
			return true
		}
		for _, v := range v {
			if deeper(v, n-1) {
				return true
			}
		}
	}
	return false
}

// largest returns the attribute that is largest as JSON, and how many bytes it has.
func largest(attributes map[string]any) (name string, n int) {
	for _, a := range slices.Sorted(maps.Keys(attributes)) {
		if b, err := json.Marshal(attributes[a]); err == nil && len(b) > n {
			name, n = a, len(b)
		}
	}
	return name, n
}

// checker collects what is wrong with attributes.
type checker struct {
	service  *definition.Service
	who      Who
	problems diag.Problems
}
