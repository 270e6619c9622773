package tf

import (
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/fault"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// Schemas converts the schemas in the answer of a provider to the form in which they are cached.
func Schemas(from *wire.Schemas) *value.Schemas {
	all := func(from map[string]wire.Schema) map[string]value.Schema {
		out := make(map[string]value.Schema, len(from))
		for name, s := range from {
			out[name] = schemaOf(s)
		}
		return out
	}
	return &value.Schemas{Provider: schemaOf(from.Provider), Resources: all(from.Resources),
		DataSources: all(from.DataSources)}
}

func schemaOf(s wire.Schema) value.Schema {
	return value.Schema{Version: s.Version, Block: blockOf(&s.Block)}
}

func blockOf(b *wire.Block) value.Block {
	out := value.Block{Attributes: attributesOf(b.Attributes), Description: b.Description,
		Markdown: b.Markdown, Deprecated: b.Deprecated, DeprecationMessage: b.DeprecationMessage}
	for i := range b.Blocks {
		n := &b.Blocks[i]
		out.Blocks = append(out.Blocks, value.NestedBlock{Name: n.Name, Block: blockOf(&n.Block),
			Nesting: value.Nesting(n.Nesting), MinItems: n.MinItems, MaxItems: n.MaxItems})
	}
	return out
}

func attributesOf(list []wire.Attribute) []value.Attribute {
	var out []value.Attribute
	for i := range list {
		a := &list[i]
		to := value.Attribute{Name: a.Name, Type: a.Type, Description: a.Description,
			Markdown: a.Markdown, Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			Sensitive: a.Sensitive, WriteOnly: a.WriteOnly, Deprecated: a.Deprecated,
			DeprecationMessage: a.DeprecationMessage}
		if a.Nested != nil {
			to.Nested = &value.Object{Attributes: attributesOf(a.Nested.Attributes),
				Nesting: value.Nesting(a.Nested.Nesting)}
		}
		out = append(out, to)
	}
	return out
}

// decode reads a value that a provider sent. A value without content is an object that does not
// exist.
func decode(t *value.Type, v wire.DynamicValue) (cty.Value, error) {
	switch {
	case len(v.Msgpack) > 0:
		return t.FromMsgpack(v.Msgpack)
	case len(v.JSON) > 0:
		return t.FromJSON(v.JSON)
	}
	return t.Null(), nil
}

// encode makes a value that a provider is sent.
func encode(t *value.Type, v cty.Value) (wire.DynamicValue, error) {
	b, err := t.Msgpack(v)
	return wire.DynamicValue{Msgpack: b}, fault.Wrap(fault.Internal, "call provider", err)
}

// pathOf converts a path. It ends at a step that this program does not know.
func pathOf(p wire.Path) cty.Path {
	var out cty.Path
	for _, s := range p {
		switch s.Kind {
		case wire.StepAttribute:
			out = out.GetAttr(s.Name)
		case wire.StepKey:
			out = out.IndexString(s.Name)
		case wire.StepIndex:
			out = out.Index(cty.NumberIntVal(s.At))
		default:
			return out
		}
	}
	return out
}
