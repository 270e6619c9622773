// Package wire speaks the protocol of Terraform providers, versions 5 and 6, as a client.
//
// Values travel as encoded bytes (DynamicValue); the package does not interpret them. See
// docs/design/terraform.md.
package wire

import (
	"encoding/json"

	"southbound/shared/fault"
)

// Protocol is the version of the protocol that a provider speaks.
type Protocol int

// The versions of the protocol.
const (
	Protocol5 Protocol = 5
	Protocol6 Protocol = 6
)

// DynamicValue is an encoded value of a type of the schema. A provider sends either form.
type DynamicValue struct {
	Msgpack []byte
	JSON    []byte
}

// Schemas holds the schemas of a provider. Their JSON is the form in which they are cached.
type Schemas struct {
	Provider     Schema            `json:"provider"`
	ProviderMeta *Schema           `json:"provider_meta,omitempty"` // nil: none
	Resources    map[string]Schema `json:"resources"`               // by the provider's name of the type, such as "random_pet"
	DataSources  map[string]Schema `json:"data_sources"`
	Ephemeral    map[string]Schema `json:"ephemeral,omitempty"`
	Lists        map[string]Schema `json:"lists,omitempty"`
	Functions    []string          `json:"functions,omitempty"` // names only, sorted
	// Identities are the identities of the resource types that have one. They come from a call of their
	// own: Client.Schemas leaves them out.
	Identities   map[string]IdentitySchema `json:"identities,omitempty"`
	Capabilities Capabilities              `json:"capabilities,omitzero"`
}

// Capabilities are the optional features of a provider.
type Capabilities struct {
	PlanDestroy    bool `json:"plan_destroy,omitempty"`    // the provider expects a plan before a delete
	SchemaOptional bool `json:"schema_optional,omitempty"` // the provider serves calls before it was asked for its schemas
	MoveState      bool `json:"move_state,omitempty"`      // the provider implements MoveResourceState
	GenerateConfig bool `json:"generate_config,omitempty"` // the provider implements GenerateResourceConfig
}

// Schema describes a configuration: of a provider, a resource type or a data source.
type Schema struct {
	Version int64 `json:"version,omitempty"` // of the stored state
	Block   Block `json:"block"`
}

// Block is a group of attributes and nested blocks.
type Block struct {
	Attributes         []Attribute   `json:"attributes,omitempty"`
	Blocks             []NestedBlock `json:"blocks,omitempty"`
	Description        string        `json:"description,omitempty"`
	Markdown           bool          `json:"markdown,omitempty"` // the description is Markdown, else plain text
	Deprecated         bool          `json:"deprecated,omitempty"`
	DeprecationMessage string        `json:"deprecation_message,omitempty"`
}

// Attribute is one attribute. Exactly one of Type and Nested is set.
type Attribute struct {
	Name               string          `json:"name"`
	Type               json.RawMessage `json:"type,omitempty"`   // such as "string" in quotes or ["list","string"]
	Nested             *Object         `json:"nested,omitempty"` // nested attributes, which only version 6 has; nil: none
	Description        string          `json:"description,omitempty"`
	Markdown           bool            `json:"markdown,omitempty"` // the description is Markdown, else plain text
	Required           bool            `json:"required,omitempty"`
	Optional           bool            `json:"optional,omitempty"`
	Computed           bool            `json:"computed,omitempty"`
	Sensitive          bool            `json:"sensitive,omitempty"`
	WriteOnly          bool            `json:"write_only,omitempty"`
	Deprecated         bool            `json:"deprecated,omitempty"`
	DeprecationMessage string          `json:"deprecation_message,omitempty"`
}

// Object is the type of nested attributes.
type Object struct {
	Attributes []Attribute `json:"attributes"`
	Nesting    Nesting     `json:"nesting"` // never NestingGroup
}

// NestedBlock is a block that a block contains.
type NestedBlock struct {
	Name     string  `json:"name"`
	Block    Block   `json:"block"`
	Nesting  Nesting `json:"nesting"`
	MinItems int64   `json:"min_items,omitempty"`
	MaxItems int64   `json:"max_items,omitempty"` // 0: no limit
}

// Nesting states how nested blocks and attributes are collected.
type Nesting int

// The values of Nesting, with the numbers of the protocol.
const (
	NestingInvalid Nesting = 0
	NestingSingle  Nesting = 1
	NestingList    Nesting = 2
	NestingSet     Nesting = 3
	NestingMap     Nesting = 4
	NestingGroup   Nesting = 5 // as NestingSingle, but never null
)

// Severity is the weight of a diagnostic.
type Severity int

// The values of Severity, with the numbers of the protocol.
const (
	SeverityInvalid Severity = 0
	SeverityError   Severity = 1
	SeverityWarning Severity = 2
)

// Diagnostic is an error or a warning of a provider.
type Diagnostic struct {
	Severity Severity
	Summary  string
	Detail   string
	Path     Path // nil: the whole object
}

// Path leads to an attribute or an element within a value.
type Path []Step

// Step is one step of a Path. Kind selects the field that counts.
type Step struct {
	Kind StepKind
	Name string // of an attribute, or the key of an element
	At   int64  // position of an element
}

// StepKind is the kind of a step.
type StepKind int

// The kinds of steps.
const (
	StepAttribute StepKind = iota
	StepKey
	StepIndex
	StepUnknown // a selector that this client does not know; the path ends here
)

// IdentitySchema describes the identity of a resource type, by which it can be imported.
type IdentitySchema struct {
	Version    int64               `json:"version,omitempty"`
	Attributes []IdentityAttribute `json:"attributes"`
}

// IdentityAttribute is one attribute of an identity.
type IdentityAttribute struct {
	Name              string          `json:"name"`
	Type              json.RawMessage `json:"type"` // as Attribute.Type
	RequiredForImport bool            `json:"required_for_import,omitempty"`
	OptionalForImport bool            `json:"optional_for_import,omitempty"`
	Description       string          `json:"description,omitempty"`
}

// Schema returns the schema of the values of an identity. All its attributes are optional.
func (s *IdentitySchema) Schema() Schema {
	out := Schema{Version: s.Version}
	for i := range s.Attributes {
		a := &s.Attributes[i]
		out.Block.Attributes = append(out.Block.Attributes,
			Attribute{Name: a.Name, Type: a.Type, Optional: true})
	}
	return out
}

// ForImport returns the names of the attributes that an import requires.
func (s *IdentitySchema) ForImport() []string {
	var out []string
	for i := range s.Attributes {
		if a := &s.Attributes[i]; a.RequiredForImport {
			out = append(out, a.Name)
		}
	}
	return out
}

// ParseSchemas reads schemas in the form that json.Marshal writes. It returns Damaged for text in
// another form. It does not interpret types: one bad type does not make the others unusable.
func ParseSchemas(text []byte) (*Schemas, error) {
	out := new(Schemas)
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fault.Wrap(fault.Damaged, "read schemas of a provider", err)
	}
	return out, nil
}

// Absent reports whether there is no value at all, which differs from a null value.
func (v DynamicValue) Absent() bool { return len(v.Msgpack) == 0 && len(v.JSON) == 0 }

// Failed reports whether diagnostics contain an error.
func Failed(diagnostics []Diagnostic) bool {
	for _, d := range diagnostics {
		if d.Severity != SeverityWarning { // invalid severities count as errors
			return true
		}
	}
	return false
}
