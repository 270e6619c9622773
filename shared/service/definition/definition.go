// Package definition holds the definitions of services: their orders and the checks of these.
// shared/service/catalog derives definitions from models.
//
//	definition.go  services, their attributes, parts and relations
//	schema.go      a JSON Schema for orders
//	diff.go        differences between definitions
//	docs.go        an OpenAPI description of services
//	numbers.go     floats in JSON
//	store.go       the port that keeps definitions
package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/service/lifecycle"
)

// Modifier defines who sets an attribute, and when.
type Modifier string

// The modifiers: only the model; the customer, once; the customer, at any time.
const (
	ReadOnly  Modifier = "r"
	Once      Modifier = "rw"
	ReadWrite Modifier = "rw+"
)

// Service is a version of a service.
type Service struct {
	Name        string  `json:"name"`
	Environment string  `json:"environment,omitempty"`
	Description *string `json:"description"`
	Version     int     `json:"version"`
	// Default marks the version of new instances that request no version.
	Default bool `json:"default_version"`
	Part
	Lifecycle           lifecycle.Machine `json:"lifecycle"`
	Config              map[string]bool   `json:"config"`
	Identity            *string           `json:"service_identity"`
	IdentityDisplayName *string           `json:"service_identity_display_name"`
	Strict              bool              `json:"strict_modifier_enforcement"`
	Owner               *string           `json:"owner"`
	OwnedEntities       []string          `json:"owned_entities"`
	RelationToOwner     *string           `json:"relation_to_owner"`
}

// Part holds the fields that services and embedded entities share.
type Part struct {
	Entity        string         `json:"type"` // the full name of the entity
	Attributes    []Attribute    `json:"attributes"`
	Embedded      []Embedded     `json:"embedded_entities"`
	Relations     []Relation     `json:"inter_service_relations"`
	KeyAttributes []string       `json:"key_attributes"`
	Annotations   map[string]any `json:"entity_annotations"`
}

// Attribute is an attribute that customers see.
type Attribute struct {
	Name        string   `json:"name"`
	Description *string  `json:"description"`
	Modifier    Modifier `json:"modifier"`
	// Type is string, int, float, number, bool, list or dict, with [] for a list and ? for null.
	Type            string         `json:"type"`
	Default         any            `json:"default_value"`
	DefaultSet      bool           `json:"default_value_set"`
	Annotations     map[string]any `json:"attribute_annotations"`
	ValidationType  *string        `json:"validation_type"`
	ValidationParam map[string]any `json:"validation_parameters"`
}

// Limits are the numbers of members of a relation; a nil Upper means no limit.
type Limits struct {
	Lower int  `json:"lower_limit"`
	Upper *int `json:"upper_limit"`
}

// Many reports whether there can be more than one member.
func (l Limits) Many() bool { return l.Upper == nil || *l.Upper > 1 }

// Embedded is a relation to entities that are ordered together with their parent.
type Embedded struct {
	Name        string   `json:"name"`
	Description *string  `json:"description"`
	Modifier    Modifier `json:"modifier"`
	Limits
	Part
	RelationAnnotations map[string]any `json:"attribute_annotations"`
}

// Relation is a relation to instances of another service.
type Relation struct {
	Name        string   `json:"name"`
	Description *string  `json:"description"`
	Modifier    Modifier `json:"modifier"`
	Limits
	Service     string         `json:"entity_type"`
	Annotations map[string]any `json:"attribute_annotations"`
}

// Attribute returns the attribute with a name; nil if there is none.
func (p *Part) Attribute(name string) *Attribute {
	for i := range p.Attributes {
		if p.Attributes[i].Name == name {
			return &p.Attributes[i]
		}
	}
	return nil
}

// Optional reports whether the attribute may be null.
func (a *Attribute) Optional() bool { return strings.HasSuffix(a.Type, "?") }

// List reports whether the attribute holds a list of values of a type.
func (a *Attribute) List() bool { return strings.HasSuffix(strings.TrimSuffix(a.Type, "?"), "[]") }

// Base returns the type without [] and ?.
func (a *Attribute) Base() string {
	return strings.TrimSuffix(strings.TrimSuffix(a.Type, "?"), "[]")
}

// Digest returns a hash of a definition without its version and environment. Equal definitions have
// equal digests.
func (s *Service) Digest() (string, error) {
	c := *s
	c.Version, c.Environment, c.Default = 0, "", false
	b, err := json.Marshal(&c)
	if err != nil {
		return "", fault.Wrap(fault.Internal, "write the definition of "+s.Name, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
