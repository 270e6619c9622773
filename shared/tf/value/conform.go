package value

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
	"southbound/shared/tf/wire"
)

// Violation is an answer of a provider that contradicts the configuration or its own plan. Message
// has no values, which may be secret.
//
// Providers with the legacy type system, which they state in their answers, are allowed to violate
// these rules. A violation of any other provider is an error of the provider.
type Violation struct {
	Path    cty.Path
	Message string
}

// String returns the violation with its path.
func (v Violation) String() string {
	if p := Pointer(v.Path); p != "" {
		return p + ": " + v.Message
	}
	return v.Message
}

// Normalize replaces null lists, sets and maps of blocks by empty ones, and null blocks that are never
// null by blocks without values. Providers with the legacy type system answer null for them.
func (t *Type) Normalize(v cty.Value) cty.Value { return t.root.normalize(v) }

func (o *object) normalize(v cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	out := make(map[string]cty.Value, len(o.names))
	for _, name := range o.names {
		f, in := o.fields[name], v.GetAttr(name)
		switch {
		case !f.block || !in.IsKnown():
		case in.IsNull():
			in = f.absent()
		case f.one():
			in = f.of.normalize(in)
		default:
			in = f.each(in, f.of.normalize)
		}
		out[name] = in
	}
	return cty.ObjectVal(out)
}

// each applies a function to the elements of a collection of objects.
func (f *field) each(v cty.Value, apply func(cty.Value) cty.Value) cty.Value {
	if v.LengthInt() == 0 {
		return v
	}
	if f.nesting == wire.NestingMap {
		elements := v.AsValueMap()
		for key, e := range elements {
			elements[key] = apply(e)
		}
		return cty.MapVal(elements)
	}
	elements := v.AsValueSlice()
	for i, e := range elements {
		elements[i] = apply(e)
	}
	if f.nesting == wire.NestingSet {
		return cty.SetVal(elements)
	}
	return cty.ListVal(elements)
}

// CheckPlan returns the violations of a plan: a configured attribute has to be planned as configured,
// or as it was before if the provider treats the two as equal. An attribute that is not configured
// has to be null, or computed.
func (t *Type) CheckPlan(prior, config, planned cty.Value) []Violation {
	c := &checker{}
	switch {
	case config.IsNull() && !planned.IsNull():
		c.bad(nil, "the plan of a deletion keeps the object")
	case config.IsNull():
	case planned.IsNull() || !planned.IsKnown():
		c.bad(nil, "the plan has no object")
	default:
		c.planned(t.root, nil, prior, config, planned)
	}
	return c.found
}

type checker struct{ found []Violation }

func (c *checker) bad(at cty.Path, message string) {
	c.found = append(c.found, Violation{Path: at, Message: message})
}

func (c *checker) planned(o *object, at cty.Path, prior, config, planned cty.Value) {
	for _, name := range o.names {
		f := o.fields[name]
		path := append(slices.Clip(at), cty.GetAttrStep{Name: name})
		before, wanted, after := f.member(prior), f.member(config), f.member(planned)
		switch {
		case f.writeOnly:
			if !after.IsNull() {
				c.bad(path, "the plan has a value for a write-only attribute")
			}
		case same(after, wanted), !wanted.IsKnown() && f.of != nil:
		case !f.block && wanted.IsNull() && f.computed:
		case !f.block && !wanted.IsNull() && !before.IsNull() && same(after, before):
		case f.of != nil && !wanted.IsNull() && !after.IsNull() && after.IsKnown():
			c.nested(f, path, before, wanted, after)
		case wanted.IsNull():
			c.bad(path, "the plan has a value, but it is neither configured nor computed")
		default:
			c.bad(path, "the planned value is not the configured one")
		}
	}
}

const (
	countDiffers   = "the plan does not have as many elements as the configuration"
	elementMissing = "the planned element does not exist"
)

// nested checks the plan of nested attributes and blocks, which are all known. Elements of sets are
// not compared: a provider may combine parts of a prior element with parts of a configured one.
func (c *checker) nested(f *field, at cty.Path, prior, config, planned cty.Value) {
	switch {
	case f.one():
		c.planned(f.of, at, prior, config, planned)
		return
	case f.nesting == wire.NestingSet && f.block:
		return
	case f.nesting == wire.NestingSet:
		if fits := planned.Length().Range().Includes(config.Length()); fits.IsKnown() && fits.False() {
			c.bad(at, countDiffers)
		}
		return
	case planned.LengthInt() != config.LengthInt():
		c.bad(at, countDiffers)
		return
	}
	for key, wanted := range config.Elements() {
		path := append(slices.Clip(at), cty.IndexStep{Key: key})
		after := elementAt(planned, key)
		switch {
		case same(after, wanted), !wanted.IsKnown():
		case after.IsNull() || wanted.IsNull() || !after.IsKnown():
			c.bad(path, "the planned element is not the configured one")
		default:
			c.planned(f.of, path, elementAt(prior, key), wanted, after)
		}
	}
}

// paired reports whether each value of a has a value of b that fits.
func paired(a, b []cty.Value, fits func(a, b cty.Value) bool) bool {
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y cty.Value) bool { return fits(x, y) }) {
			return false
		}
	}
	return true
}

// CheckApply returns the violations of the state after an apply: it has to be known, and equal to
// the plan wherever the plan was known.
func (t *Type) CheckApply(planned, actual cty.Value) []Violation {
	c := &checker{}
	switch {
	case planned.IsNull() && !actual.IsNull():
		c.bad(nil, "the object still exists after its deletion")
	case planned.IsNull():
	case actual.IsNull():
		c.bad(nil, "the object does not exist after the apply")
	default:
		c.unknown(actual)
		c.applied(nil, planned, actual)
	}
	return c.found
}

// unknown records the first unknown value on each way through a value.
func (c *checker) unknown(v cty.Value) {
	_ = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) { // the function returns no error
		if !v.IsKnown() {
			c.bad(p.Copy(), "the value is unknown after the apply")
		}
		return v.IsKnown(), nil
	})
}

func (c *checker) applied(at cty.Path, planned, actual cty.Value) {
	switch ty := planned.Type(); {
	case !planned.IsKnown(), !actual.IsKnown(), same(planned, actual):
	case planned.IsNull(), actual.IsNull(), ty.IsPrimitiveType(), !actual.Type().Equals(ty):
		c.bad(at, "the value is not the planned one")
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			c.applied(append(slices.Clip(at), cty.GetAttrStep{Name: name}), planned.GetAttr(name),
				actual.GetAttr(name))
		}
	case ty.IsSetType():
		c.appliedSet(at, planned, actual)
	case planned.LengthInt() != actual.LengthInt():
		c.bad(at, "the number of elements is not the planned one")
	default:
		for key, e := range planned.Elements() {
			path := append(slices.Clip(at), cty.IndexStep{Key: key})
			if actual.HasIndex(key).False() {
				c.bad(path, elementMissing)
				continue
			}
			c.applied(path, e, actual.Index(key))
		}
	}
}

// appliedSet requires that each element follows from a planned one. Unknown elements may turn out to
// be equal to each other, so the set may have become smaller.
func (c *checker) appliedSet(at cty.Path, planned, actual cty.Value) {
	fits := func(actual, planned cty.Value) bool {
		trial := &checker{}
		trial.applied(at, planned, actual)
		return len(trial.found) == 0
	}
	before, after := planned.AsValueSlice(), actual.AsValueSlice()
	switch {
	case len(after) > len(before), planned.IsWhollyKnown() && len(after) < len(before):
		c.bad(at, "the number of elements is not the planned one")
	case !paired(after, before, fits),
		!paired(before, after, func(b, a cty.Value) bool { return fits(a, b) }):
		c.bad(at, "an element is not a planned one")
	}
}
