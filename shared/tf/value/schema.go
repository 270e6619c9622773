// Package value holds the schemas of Terraform providers, and the values of resources under these
// schemas: their encodings, the proposed state of a plan, and the differences between two states.
//
// It knows neither the protocol nor the engine. See docs/design/terraform.md.
package value

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/fault"
)

// Schemas holds the schemas of one provider, in the form in which they are cached.
type Schemas struct {
	Provider    Schema            `json:"provider"`
	Resources   map[string]Schema `json:"resources"`
	DataSources map[string]Schema `json:"data_sources"`
}

// Schema describes the attributes of a resource, of a data source or of a provider.
type Schema struct {
	Version int64 `json:"version,omitempty"` // of the stored state
	Block   Block `json:"block"`
}

// Block is a set of attributes and of nested blocks.
type Block struct {
	Attributes         []Attribute   `json:"attributes,omitempty"`
	Blocks             []NestedBlock `json:"blocks,omitempty"`
	Description        string        `json:"description,omitempty"`
	Markdown           bool          `json:"markdown,omitempty"` // the description is Markdown
	Deprecated         bool          `json:"deprecated,omitempty"`
	DeprecationMessage string        `json:"deprecation_message,omitempty"`
}

// Attribute is one attribute. Either Type or Nested is set.
type Attribute struct {
	Name               string          `json:"name"`
	Type               json.RawMessage `json:"type,omitempty"` // "string", ["list","string"], ...
	Nested             *Object         `json:"nested,omitempty"`
	Description        string          `json:"description,omitempty"`
	Markdown           bool            `json:"markdown,omitempty"` // the description is Markdown
	Required           bool            `json:"required,omitempty"`
	Optional           bool            `json:"optional,omitempty"`
	Computed           bool            `json:"computed,omitempty"`
	Sensitive          bool            `json:"sensitive,omitempty"`
	WriteOnly          bool            `json:"write_only,omitempty"`
	Deprecated         bool            `json:"deprecated,omitempty"`
	DeprecationMessage string          `json:"deprecation_message,omitempty"`
}

// Object is the type of nested attributes. Its nesting is never Group.
type Object struct {
	Attributes []Attribute `json:"attributes"`
	Nesting    Nesting     `json:"nesting"`
}

// NestedBlock is a block within a block.
type NestedBlock struct {
	Name     string  `json:"name"`
	Block    Block   `json:"block"`
	Nesting  Nesting `json:"nesting"`
	MinItems int64   `json:"min_items,omitempty"`
	MaxItems int64   `json:"max_items,omitempty"` // 0: no limit
}

// Nesting states how nested blocks or attributes are collected.
type Nesting int

// The nestings, with the numbers of the protocol.
const (
	Single Nesting = 1
	List   Nesting = 2
	Set    Nesting = 3
	Map    Nesting = 4
	Group  Nesting = 5 // a single block that is never null
)

// ParseSchemas reads schemas in the form that json.Marshal writes. It returns Damaged for text in
// another form. It does not compile the schemas: one bad type does not make the others unusable.
func ParseSchemas(text []byte) (*Schemas, error) {
	out := new(Schemas)
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fault.Wrap(fault.Damaged, "read schemas of a provider", err)
	}
	return out, nil
}

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
