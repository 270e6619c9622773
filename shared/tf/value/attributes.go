package value

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/tf/wire"
)

// FromAttributes makes a configuration from the attributes of a resource, by the names of the
// schema. Absent attributes are null, and absent blocks are empty. A reference (a secret, a
// parameter, a fact, or a text with one) is unknown. A map is accepted for a list or set of at most
// one block.
//
// The error is diag.Problems, with the attribute of each problem, the path within it, and no
// values.
func (t *Type) FromAttributes(attributes map[string]any) (cty.Value, error) {
	c := &converter{}
	v := c.object(t.root, nil, attributes)
	if len(c.problems) > 0 {
		return cty.NilVal, c.problems
	}
	return v, nil
}

// converter collects the problems of a conversion. Its methods return some value of the right type
// for a part with a problem.
type converter struct{ problems diag.Problems }

func (c *converter) bad(at []string, hint, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if len(at) > 1 {
		path := make(cty.Path, len(at)-1)
		for i, name := range at[1:] {
			path[i] = cty.GetAttrStep{Name: name}
		}
		message = Pointer(path) + ": " + message
	}
	p := diag.Problem{Message: message, Hint: hint}
	if len(at) > 0 {
		p.Attribute = at[0]
	}
	c.problems.Add(p)
}

func (c *converter) object(o *object, at []string, m map[string]any) cty.Value {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if o.fields[name] == nil {
			c.bad(append(slices.Clip(at), name), nearest(name, o.names), "there is no such attribute")
		}
	}
	out := make(map[string]cty.Value, len(o.names))
	for _, name := range o.names {
		path := append(slices.Clip(at), name)
		f := o.fields[name]
		v := m[name]
		switch {
		case v == nil:
			out[name] = f.absent()
			if f.required {
				c.bad(path, "set it", "the attribute is required")
			}
		case f.computed && !f.optional && !f.required:
			c.bad(path, "leave it out", "the provider computes the attribute")
			out[name] = f.absent()
		default:
			out[name] = c.field(f, path, v)
		}
		if f.block && f.min > 0 {
			c.atLeast(f, path, out[name])
		}
	}
	return cty.ObjectVal(out)
}

func nearest(name string, names []string) string {
	if n := schema.Nearest(name, names); n != "" {
		return fmt.Sprintf("did you mean %s?", n)
	}
	return "leave it out"
}

// atLeast checks the minimum number of blocks.
func (c *converter) atLeast(f *field, at []string, v cty.Value) {
	switch {
	case !v.IsKnown():
	case v.IsNull():
		c.bad(at, "add it", "the block is required")
	case v.Type().IsCollectionType() && v.LengthInt() < f.min:
		c.bad(at, "add blocks", "at least %d blocks are required", f.min)
	}
}

// reference reports whether a value is not known yet.
func reference(v any) bool {
	switch v.(type) {
	case resource.Secret, resource.Parameter, resource.Fact, resource.Text:
		return true
	}
	return false
}

func (c *converter) field(f *field, at []string, v any) cty.Value {
	if reference(v) {
		return cty.UnknownVal(f.ty)
	}
	if f.of == nil {
		return c.plain(f.ty, at, v)
	}
	switch f.nesting {
	case wire.NestingSingle, wire.NestingGroup:
		return c.element(f, at, v)
	case wire.NestingMap:
		m, ok := v.(map[string]any)
		if !ok {
			c.bad(at, "write {KEY: {...}}", "expected a map of objects, found %s", kindOf(v))
			return f.absent()
		}
		out := make(map[string]cty.Value, len(m))
		for _, key := range slices.Sorted(maps.Keys(m)) {
			out[cty.NormalizeString(key)] = c.element(f, append(slices.Clip(at), key), m[key])
		}
		return c.keys(f.ty, at, m, out)
	}
	list, ok := v.([]any)
	if m, one := v.(map[string]any); one && f.max == 1 && f.block {
		list, ok = []any{m}, true
	}
	if !ok {
		c.bad(at, "write [{...}]", "expected a list of objects, found %s", kindOf(v))
		return f.absent()
	}
	if f.max > 0 && len(list) > f.max {
		c.bad(at, "remove blocks", "at most %d blocks are allowed, found %d", f.max, len(list))
	}
	out := make([]cty.Value, len(list))
	for i, e := range list {
		out[i] = c.element(f, append(slices.Clip(at), strconv.Itoa(i)), e)
	}
	return c.collect(f.ty, at, out)
}

// element converts one object of nested attributes or blocks.
func (c *converter) element(f *field, at []string, v any) cty.Value {
	if reference(v) {
		return cty.UnknownVal(f.of.ty)
	}
	m, ok := v.(map[string]any)
	if ok {
		return c.object(f.of, at, m)
	}
	hint := "write {...}"
	if list, is := v.([]any); is && len(list) == 1 {
		hint = "write {...} without [ ]"
	}
	c.bad(at, hint, "expected an object, found %s", kindOf(v))
	return cty.NullVal(f.of.ty)
}

// plain converts a value to a type without a schema.
func (c *converter) plain(ty cty.Type, at []string, v any) cty.Value {
	switch {
	case v == nil:
		return cty.NullVal(ty)
	case reference(v):
		return cty.UnknownVal(ty)
	case ty == cty.DynamicPseudoType:
		return c.anything(at, v)
	}
	switch v := v.(type) {
	case bool:
		if ty == cty.Bool {
			return cty.BoolVal(v)
		}
	case string:
		if ty == cty.String {
			return cty.StringVal(v)
		}
	case int64, *big.Int, float64:
		if n, ok := number(v); ok && ty == cty.Number {
			return n
		}
	case []any:
		switch {
		case ty.IsListType(), ty.IsSetType():
			out := make([]cty.Value, len(v))
			for i, e := range v {
				out[i] = c.plain(ty.ElementType(), append(slices.Clip(at), strconv.Itoa(i)), e)
			}
			return c.collect(ty, at, out)
		case ty.IsTupleType():
			return c.tuple(ty, at, v)
		}
	case map[string]any:
		switch {
		case ty.IsMapType():
			out := make(map[string]cty.Value, len(v))
			for _, key := range slices.Sorted(maps.Keys(v)) {
				out[cty.NormalizeString(key)] =
					c.plain(ty.ElementType(), append(slices.Clip(at), key), v[key])
			}
			return c.keys(ty, at, v, out)
		case ty.IsObjectType():
			return c.members(ty, at, v)
		}
	}
	c.bad(at, "", "expected %s, found %s", named(ty), kindOf(v))
	return cty.UnknownVal(ty)
}

func (c *converter) tuple(ty cty.Type, at []string, list []any) cty.Value {
	types := ty.TupleElementTypes()
	if len(list) != len(types) {
		c.bad(at, "", "expected %d items, found %d", len(types), len(list))
		return cty.UnknownVal(ty)
	}
	out := make([]cty.Value, len(list))
	for i, e := range list {
		out[i] = c.plain(types[i], append(slices.Clip(at), strconv.Itoa(i)), e)
	}
	return cty.TupleVal(out)
}

// members converts an object without a schema: absent members are null.
func (c *converter) members(ty cty.Type, at []string, m map[string]any) cty.Value {
	types := ty.AttributeTypes()
	names := slices.Sorted(maps.Keys(types))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, ok := types[name]; !ok {
			c.bad(append(slices.Clip(at), name), nearest(name, names), "there is no such member")
		}
	}
	out := make(map[string]cty.Value, len(types))
	for _, name := range names {
		out[name] = c.plain(types[name], append(slices.Clip(at), name), m[name])
	}
	return cty.ObjectVal(out)
}

// anything converts a value of any type: lists become tuples, and maps become objects, since their
// elements may have different types.
func (c *converter) anything(at []string, v any) cty.Value {
	switch v := v.(type) {
	case bool:
		return cty.BoolVal(v)
	case string:
		return cty.StringVal(v)
	case int64, *big.Int, float64:
		if n, ok := number(v); ok {
			return n
		}
	case []any:
		out := make([]cty.Value, len(v))
		for i, e := range v {
			out[i] = c.plain(cty.DynamicPseudoType, append(slices.Clip(at), strconv.Itoa(i)), e)
		}
		return cty.TupleVal(out)
	case map[string]any:
		out := make(map[string]cty.Value, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = c.plain(cty.DynamicPseudoType, append(slices.Clip(at), key), v[key])
		}
		return cty.ObjectVal(out)
	}
	c.bad(at, "", "%s cannot be passed to a provider", kindOf(v))
	return cty.DynamicVal
}

// collect makes a list or a set. It rejects equal elements of a set.
func (c *converter) collect(ty cty.Type, at []string, elements []cty.Value) cty.Value {
	if len(elements) == 0 {
		if ty.IsSetType() {
			return cty.SetValEmpty(ty.ElementType())
		}
		return cty.ListValEmpty(ty.ElementType())
	}
	if !ty.IsSetType() {
		return cty.ListVal(elements)
	}
	seen := map[int]int{} // by hash, the first element with it
	for i, e := range elements {
		if !e.IsWhollyKnown() {
			continue
		}
		first, ok := seen[e.Hash()]
		if ok && elements[first].RawEquals(e) {
			c.bad(append(slices.Clip(at), strconv.Itoa(i)), "remove it",
				"the element equals element %d, and the order has no meaning", first)
		}
		if !ok {
			seen[e.Hash()] = i
		}
	}
	return cty.SetVal(elements)
}

// keys makes a map. It rejects keys that become equal by normalization.
func (c *converter) keys(ty cty.Type, at []string, from map[string]any, m map[string]cty.Value,
) cty.Value {
	switch {
	case len(m) < len(from):
		c.bad(at, "remove one of them", "two keys are the same text in different encodings")
	case len(m) == 0:
		return cty.MapValEmpty(ty.ElementType())
	}
	return cty.MapVal(m)
}

// number converts a number exactly. A float is the decimal number by which it is written.
func number(v any) (cty.Value, bool) {
	switch v := v.(type) {
	case int64:
		return cty.NumberIntVal(v), true
	case *big.Int:
		if v == nil || v.BitLen() > maxExponent {
			return cty.NilVal, false
		}
		return cty.NumberVal(new(big.Float).SetInt(v)), true
	case float64:
		n, err := cty.ParseNumberVal(strconv.FormatFloat(v, 'g', -1, 64))
		return n, err == nil
	}
	return cty.NilVal, false
}

// named returns the name of a type for people.
func named(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "a text"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	case ty.IsListType(), ty.IsSetType(), ty.IsTupleType():
		return "a list"
	}
	return "a map"
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case int64, *big.Int, float64:
		return "a number"
	case []any:
		if len(v) == 1 {
			return "a list of one"
		}
		return "a list"
	case map[string]any:
		return "a map"
	case resource.File:
		return "a file"
	}
	return "something else"
}
