package tf

import (
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/fault"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

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
