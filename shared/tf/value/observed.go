package value

import (
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"southbound/shared/tf/wire"
)

// Attributes returns the values of an object as attributes of a resource, by the names of the
// schema. Null and unknown values, and blocks that are empty, are left out. Whole numbers are int64
// or *big.Int, other numbers the nearest float64. The values of sensitive attributes are in clear.
// The result is nil if the object does not exist.
func (t *Type) Attributes(v cty.Value) map[string]any {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	return t.root.attributes(v)
}

func (o *object) attributes(v cty.Value) map[string]any {
	out := make(map[string]any, len(o.names))
	for _, name := range o.names {
		f, in := o.fields[name], v.GetAttr(name)
		switch {
		case in.IsNull(), !in.IsKnown(), f.emptyBlock(in):
		case f.of == nil:
			out[name] = Plain(in)
		case f.one():
			out[name] = f.of.attributes(in)
		default:
			out[name] = f.objects(in)
		}
	}
	return out
}

func (f *field) objects(v cty.Value) any {
	one := func(e cty.Value) any {
		if e.IsNull() || !e.IsKnown() {
			return nil
		}
		return f.of.attributes(e)
	}
	if f.nesting == wire.NestingMap {
		out := make(map[string]any, v.LengthInt())
		for key, e := range v.AsValueMap() {
			out[key] = one(e)
		}
		return out
	}
	elements := v.AsValueSlice()
	out := make([]any, len(elements))
	for i, e := range elements {
		out[i] = one(e)
	}
	return out
}

// Plain returns a value as a value of an attribute. An unknown value is nil, and so is a member that
// is null; such a member of an object is left out.
func Plain(v cty.Value) any {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		return plainNumber(v.AsBigFloat())
	case ty.IsMapType(), ty.IsObjectType():
		out := make(map[string]any, v.LengthInt())
		for key, e := range v.AsValueMap() {
			if p := Plain(e); p != nil || ty.IsMapType() {
				out[key] = p
			}
		}
		return out
	case ty.IsListType(), ty.IsSetType(), ty.IsTupleType():
		elements := v.AsValueSlice()
		out := make([]any, len(elements))
		for i, e := range elements {
			out[i] = Plain(e)
		}
		return out
	}
	return nil
}

func plainNumber(f *big.Float) any {
	if f.IsInt() && f.MantExp(nil) <= maxExponent {
		n, _ := f.Int(nil)
		if n.IsInt64() {
			return n.Int64()
		}
		return n
	}
	near, _ := f.Float64()
	return near
}
