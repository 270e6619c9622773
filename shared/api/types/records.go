package types

import (
	"bytes"
	"cmp"
	"encoding/json"

	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/internal/typefile"
	"southbound/shared/schema"
)

// UnknownType is the error for an unknown type; similar is a similar name, or "".
func UnknownType(name, similar string) error {
	e := fault.New(fault.NotFound, "", "unknown type %q", name).
		WithHint("`southbound types` lists them")
	if similar != "" {
		e = e.WithHint("did you mean %q?", similar)
	}
	return e
}

// TypesOf describes all types of a registry.
func TypesOf(r *schema.Registry) []Type {
	var out []Type
	for _, name := range r.Names() {
		if t, ok := r.Type(name); ok {
			out = append(out, typeOf(t))
		}
	}
	return out
}

func typeOf(t *schema.Compiled) Type {
	l := Type{Name: t.Name, Description: t.Description, Features: wire.OrEmpty(t.Features),
		Providers: providersOf(t), Transports: t.Over(), Attributes: []Attribute{}}
	for _, at := range t.Attributes {
		l.Attributes = append(l.Attributes,
			Attribute{at.Name, at.Type, cmp.Or(string(at.Behaviour), "property"), at.Default,
				at.Description, at.Sensitive})
	}
	if text, err := typefile.JSON(&t.Type); err == nil {
		var compact bytes.Buffer
		if json.Compact(&compact, text) == nil {
			l.Declaration = compact.Bytes()
		}
	}
	return l
}

// providersOf returns the names of a type's providers.
func providersOf(t *schema.Compiled) []string {
	if len(t.Providers) > 0 {
		return t.Providers
	}
	return []string{"default"}
}

// Type is a resource type.
type Type struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Attributes  []Attribute `json:"attributes"`
	Features    []string    `json:"features"`
	// Transports are the transports that reach an agent of the type; "*" stands for all.
	Transports []string `json:"transports"`
	Providers  []string `json:"providers"`
	// Declaration is the declaration of the type, in the form that `southbound types --check`
	// reads.
	Declaration json.RawMessage `json:"declaration,omitempty"`
}

// Attribute is one attribute of a type.
type Attribute struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Behaviour   string `json:"behaviour"`
	Default     any    `json:"default"`
	Description string `json:"description"`
	Sensitive   bool   `json:"sensitive"`
}
