// Package inventory holds the records of service instances. It decides which orders and changes are
// allowed, from the definition of the service and the attributes of the instance, without a store.
//
//	inventory.go  orders and changes
//	check.go      values against a definition
//	values.go     values of attributes against their types
//	numbers.go    the stored form of numbers, and their comparison
//	modifiers.go  permissions to change attributes
//	edits.go      changes by path
//	path.go       paths into attributes
//	steps.go      from a record and an event to the change to write
//	migrate.go    to another definition, with other attributes
//	rollout.go    to another definition and model, with the same attributes
//	replace.go    replacement of all attributes, and edits by experts
//	store.go      records, and the port that keeps them
//	query.go      lists of records: filters, orders and pages
//	terms.go      values of attributes, as indexes of stores contain them
//	changes.go    the changes that stores reject
//	generation.go values that are chosen by reading the values of other instances
//	book.go       orders of several instances, the port that keeps them, and their outcomes
package inventory

import (
	"encoding/json"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
)

// Codes of problems with attributes: the violated rule.
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

// PointerRoot is the JSON pointer to the attributes in the body of an order.
const PointerRoot = "/attributes"

// MaxAttributes is the size of a set of attributes in bytes of JSON. Three sets and a record fit
// into one item of a store.
const MaxAttributes = 96 << 10

// Ordered returns the attributes of a new instance: the given attributes, and defaults for the
// rest. Its error is diag.Problems with the paths of the attributes.
func Ordered(s *definition.Service, given map[string]any) (map[string]any, error) {
	return checked(s, given, nil, Customer, PointerRoot)
}

// Changed returns the attributes of an instance after a customer has changed some of them. Members
// of lists keep each attribute that is not given.
func Changed(s *definition.Service, is, given map[string]any) (map[string]any, error) {
	return changed(s, is, given, Customer, PointerRoot)
}

func changed(
	s *definition.Service, is, given map[string]any, who Who, root string,
) (map[string]any, error) {
	out, err := checked(s, given, is, who, root)
	if err != nil {
		return nil, err
	}
	if err := allowed(s, is, out, who, root); err != nil {
		return nil, err
	}
	return out, nil
}

// Told returns the attributes of an instance after the model has set a read-only attribute.
func Told(
	s *definition.Service,
	is map[string]any,
	path string,
	value any,
) (map[string]any, error) {
	return edited(s, is, []Edit{{Operation: Replace, Target: path, Value: value}}, Model)
}

// checked validates all attributes and fills in the missing ones. root is the JSON pointer to the
// attributes in the body of a request; "": they are not from one.
func checked(
	s *definition.Service, given, is map[string]any, who Who, root string,
) (map[string]any, error) {
	c := &checker{service: s, who: who, root: root}
	if c.size(given) {
		out := Typed(&s.Part, c.part(&s.Part, nil, given, is, true))
		if c.problems.Err() == nil && c.size(out) {
			return out, nil
		}
	}
	return nil, c.problems.Err()
}

// size rejects attributes that are too large to be stored.
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

// maxDepth is the number of nested lists and maps in an attribute. Each embedded entity takes two
// levels.
const maxDepth = 100

// depth rejects attributes that are nested more deeply than readers can parse.
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

// deeper reports whether a value has more than n nested lists and maps.
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

// largest returns the name and the size of the attribute that is largest as JSON.
func largest(attributes map[string]any) (name string, n int) {
	for _, a := range slices.Sorted(maps.Keys(attributes)) {
		if b, err := json.Marshal(attributes[a]); err == nil && len(b) > n {
			name, n = a, len(b)
		}
	}
	return name, n
}

// checker collects problems with attributes.
type checker struct {
	service  *definition.Service
	who      Who
	root     string // see checked
	problems diag.Problems
}
