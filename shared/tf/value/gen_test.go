package value

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"southbound/shared/tf/wire"
)

// gen makes schemas and values of few different parts, so that parts of two values are often equal.
type gen struct{ *rand.Rand }

func newGen(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 1))} }

func (g gen) one(texts ...string) string { return texts[g.IntN(len(texts))] }

func (g gen) schema() *wire.Schema { return &wire.Schema{Block: g.block(2)} }

func (g gen) block(depth int) wire.Block {
	b := wire.Block{Attributes: g.attributes(depth)}
	if depth == 0 {
		return b
	}
	for _, name := range []string{"p", "q"}[:g.IntN(3)] {
		b.Blocks = append(b.Blocks, wire.NestedBlock{Name: name, Block: g.block(depth - 1),
			Nesting: wire.Nesting(1 + g.IntN(5))})
	}
	return b
}

func (g gen) attributes(depth int) []wire.Attribute {
	var out []wire.Attribute
	for _, name := range []string{"a", "b", "c"}[:1+g.IntN(3)] {
		a := wire.Attribute{Name: name}
		switch g.IntN(4) {
		case 0:
			a.Required = true
		case 1:
			a.Optional = true
		case 2:
			a.Computed = true
		default:
			a.Optional, a.Computed = true, true
		}
		if depth > 0 && g.IntN(3) == 0 {
			a.Nested = &wire.Object{Attributes: g.attributes(depth - 1), Nesting: wire.Nesting(1 + g.IntN(4))}
		} else {
			a.Type = json.RawMessage(g.one(`"string"`, `"string"`, `"number"`, `"bool"`,
				`["list","string"]`, `["set","string"]`, `["map","number"]`,
				`["object",{"x":"string","y":"number"}]`))
		}
		out = append(out, a)
	}
	return out
}

// How values are made.
type style struct {
	config  bool // attributes that are only computed are null
	unknown bool // some values are unknown
}

func (g gen) object(o *object, s style) cty.Value {
	out := map[string]cty.Value{}
	for _, name := range o.names {
		out[name] = g.field(o.fields[name], s)
	}
	return cty.ObjectVal(out)
}

func (g gen) field(f *field, s style) cty.Value {
	mayNull := !f.block && !f.required || f.block && f.nesting == wire.NestingSingle
	switch {
	case s.config && !f.block && f.computed && !f.optional, mayNull && g.IntN(3) == 0:
		return cty.NullVal(f.ty)
	case s.unknown && !f.block && g.IntN(6) == 0:
		return cty.UnknownVal(f.ty)
	case f.of == nil:
		return g.plain(f.ty)
	case f.one():
		return g.object(f.of, s)
	}
	elements := make([]cty.Value, g.IntN(4))
	for i := range elements {
		elements[i] = g.object(f.of, s)
	}
	return g.collect(f.ty, elements)
}

func (g gen) collect(ty cty.Type, elements []cty.Value) cty.Value {
	switch {
	case ty.IsMapType():
		m := map[string]cty.Value{}
		for _, e := range elements {
			m[g.one("k", "l", "m")] = e
		}
		if len(m) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(m)
	case ty.IsSetType() && len(elements) == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(elements)
	case len(elements) == 0:
		return cty.ListValEmpty(ty.ElementType())
	}
	return cty.ListVal(elements)
}

func (g gen) plain(ty cty.Type) cty.Value {
	switch {
	case ty == cty.String:
		return cty.StringVal(g.one("", "u", "v"))
	case ty == cty.Number:
		return cty.MustParseNumberVal(g.one("0", "1", "0.1", "18446744073709551617", "-7"))
	case ty == cty.Bool:
		return cty.BoolVal(g.IntN(2) == 0)
	case ty.IsObjectType():
		out := map[string]cty.Value{}
		for name, t := range ty.AttributeTypes() {
			out[name] = g.plain(t)
		}
		return cty.ObjectVal(out)
	}
	elements := make([]cty.Value, g.IntN(3))
	for i := range elements {
		elements[i] = g.plain(ty.ElementType())
	}
	return g.collect(ty, elements)
}

// mutate returns v with some attributes of other, so that two values have much in common.
func (g gen) mutate(o *object, v, other cty.Value) cty.Value {
	if v.IsNull() || other.IsNull() || !v.IsKnown() || !other.IsKnown() {
		return other
	}
	out := map[string]cty.Value{}
	for _, name := range o.names {
		f, a, b := o.fields[name], v.GetAttr(name), other.GetAttr(name)
		switch {
		case f.of != nil && f.one() && g.IntN(3) > 0:
			out[name] = g.mutate(f.of, a, b)
		case f.nesting == wire.NestingList && g.IntN(4) > 0 && !a.IsNull() && a.IsKnown() && a.LengthInt() > 0,
			f.nesting == wire.NestingSet && g.IntN(4) > 0 && !a.IsNull() && a.IsKnown() && a.LengthInt() > 0:
			elements := a.AsValueSlice()
			i := g.IntN(len(elements))
			elements[i] = g.mutate(f.of, elements[i], g.object(f.of, style{}))
			out[name] = g.collect(f.ty, elements)
		case g.IntN(3) > 0:
			out[name] = a
		default:
			out[name] = b
		}
	}
	return cty.ObjectVal(out)
}

// asConfig removes from a state all that only the provider sets, and some of the optional values.
func (g gen) asConfig(o *object, v cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	out := map[string]cty.Value{}
	for _, name := range o.names {
		f, in := o.fields[name], v.GetAttr(name)
		switch {
		case !f.block && f.computed && (!f.optional || g.IntN(2) == 0):
			in = cty.NullVal(f.ty)
		case f.of == nil || in.IsNull() || !in.IsKnown():
		case f.one():
			in = g.asConfig(f.of, in)
		default:
			in = f.each(in, func(e cty.Value) cty.Value { return g.asConfig(f.of, e) })
		}
		out[name] = in
	}
	return cty.ObjectVal(out)
}

// trial is a schema with three values that belong together.
type trial struct {
	schema                       *wire.Schema
	typ                          *Type
	prior, config, planned, next cty.Value
}

// trialOf makes a trial. In one of eight, the object does not exist yet.
func trialOf(t testing.TB, seed uint64) trial {
	t.Helper()
	g := newGen(seed)
	s := g.schema()
	typ, err := Compile(s)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	out := trial{schema: s, typ: typ}
	out.prior = g.object(typ.root, style{})
	out.config = g.asConfig(typ.root, g.mutate(typ.root, out.prior, g.object(typ.root,
		style{config: true, unknown: g.IntN(3) == 0})))
	if g.IntN(8) == 0 {
		out.prior = typ.Null()
	}
	proposed := typ.Proposed(out.prior, out.config)
	out.planned = g.mutate(typ.root, proposed, g.object(typ.root, style{unknown: true}))
	if g.IntN(2) == 0 {
		out.planned = proposed
	}
	out.next = g.mutate(typ.root, out.planned, g.object(typ.root, style{unknown: g.IntN(6) == 0}))
	return out
}
