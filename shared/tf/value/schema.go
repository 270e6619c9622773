// Package value holds the values of resources of Terraform providers: their types, compiled from the
// schemas of package wire, their encodings, the proposed state of a plan, and the differences between
// two states.
//
// It makes no calls, and does not know the engine. See docs/design/terraform.md.
package value

import (
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/fault"
)

// ParseType reads a type in the JSON form of the protocol, such as ["list","string"]. It returns
// Unsupported for a type that no attribute can have.
func ParseType(text []byte) (cty.Type, error) {
	var ty cty.Type
	if err := scanType(text); err != nil {
		return cty.NilType, err
	}
	if err := ty.UnmarshalJSON(text); err != nil {
		return cty.NilType, fault.New(fault.Unsupported, "", "%.200q is not a type: %v", text, err)
	}
	ty = ty.WithoutOptionalAttributesDeep()
	if hidden(ty) {
		return cty.NilType, fault.New(fault.Unsupported, "",
			"%.200q is a collection of values of any type", text)
	}
	return ty, nil
}

// scanType rejects types that are nested more deeply than maxDepth.
func scanType(text []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			if depth++; depth > 2*maxDepth {
				return fault.New(fault.Unsupported, "", "the type has more than %d levels", maxDepth)
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return nil
}

// hidden reports whether a list, map or set within a type has elements that contain values of any
// type. Elements of a collection have one type, so such a collection has no type of its own.
func hidden(ty cty.Type) bool {
	switch {
	case ty.IsCollectionType():
		return ty.ElementType().HasDynamicTypes() || hidden(ty.ElementType())
	case ty.IsTupleType():
		for _, e := range ty.TupleElementTypes() {
			if hidden(e) {
				return true
			}
		}
	case ty.IsObjectType():
		for _, e := range ty.AttributeTypes() {
			if hidden(e) {
				return true
			}
		}
	}
	return false
}
