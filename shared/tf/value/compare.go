package value

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Changes are the differences between a prior state and the planned one, as paths in the order of
// names, positions and keys.
type Changes struct {
	// Changed are the attributes and elements whose planned value is known and differs, or whose
	// value is configured and not known yet.
	Changed []cty.Path
	// Computed are the attributes that the provider sets during the apply: their planned value is
	// unknown, and they are not configured.
	Computed []cty.Path
}

// Changes compares a prior state with the planned one. If one of them is null, the object is
// created or deleted, and the paths are those of all parts that are not null. A set is compared as a
// whole. Lists of different lengths differ in the additional elements. Paths do not enter an
// attribute with a plain type other than a list or a map.
func (t *Type) Changes(prior, planned, config cty.Value) Changes {
	var out Changes
	out.object(t.root, nil, prior, planned, config)
	return out
}

func (c *Changes) object(o *object, at cty.Path, prior, planned, config cty.Value) {
	for _, name := range o.names {
		f := o.fields[name]
		c.field(f, append(slices.Clip(at), cty.GetAttrStep{Name: name}), f.member(prior),
			f.member(planned), f.member(config))
	}
}

// member returns the value of the field in an object, which may be null or unknown.
func (f *field) member(v cty.Value) cty.Value {
	switch {
	case !v.IsKnown():
		return cty.UnknownVal(f.ty)
	case v.IsNull():
		return cty.NullVal(f.ty)
	}
	return v.GetAttr(f.name)
}

func (c *Changes) field(f *field, at cty.Path, prior, planned, config cty.Value) {
	switch {
	case same(prior, planned):
	case !planned.IsKnown() && config.IsNull():
		c.Computed = append(c.Computed, at)
	case f.emptyBlock(prior) && f.emptyBlock(planned):
	case f.of != nil && f.one() && planned.IsKnown() && !planned.IsNull() && !prior.IsNull():
		c.object(f.of, at, prior, planned, config)
	case f.ty.IsListType(), f.ty.IsMapType():
		c.elements(f, at, prior, planned, config)
	default:
		c.Changed = append(c.Changed, at)
	}
}

// emptyBlock reports whether a value is that of a block that is not configured.
func (f *field) emptyBlock(v cty.Value) bool {
	return f.block && v.IsKnown() &&
		(v.IsNull() || v.Type().IsCollectionType() && v.LengthInt() == 0)
}

// elements compares two lists or two maps.
func (c *Changes) elements(f *field, at cty.Path, prior, planned, config cty.Value) {
	if prior.IsNull() || planned.IsNull() || !planned.IsKnown() ||
		prior.LengthInt() == 0 && planned.LengthInt() == 0 {
		c.Changed = append(c.Changed, at)
		return
	}
	for _, key := range keysOf(prior, planned) {
		path := append(slices.Clip(at), cty.IndexStep{Key: key})
		before, after, wanted := elementAt(prior, key), elementAt(planned, key), elementAt(config, key)
		switch {
		case same(before, after):
		case f.of != nil && !before.IsNull() && !after.IsNull() && after.IsKnown():
			c.object(f.of, path, before, after, wanted)
		case !after.IsKnown() && wanted.IsNull():
			c.Computed = append(c.Computed, path)
		default:
			c.Changed = append(c.Changed, path)
		}
	}
}

// keysOf returns the keys of two lists or maps, each key once.
func keysOf(a, b cty.Value) []cty.Value {
	var out []cty.Value
	for key := range a.Elements() {
		out = append(out, key)
	}
	for key := range b.Elements() {
		if a.HasIndex(key).False() {
			out = append(out, key)
		}
	}
	return out
}

// elementAt returns an element of a list or a map; it is null if there is none.
func elementAt(v, key cty.Value) cty.Value {
	ety := v.Type().ElementType()
	switch {
	case !v.IsKnown():
		return cty.UnknownVal(ety)
	case v.IsNull(), v.HasIndex(key).False():
		return cty.NullVal(ety)
	}
	return v.Index(key)
}

// Replacements returns those paths of a provider's requires_replace for which the object has to be
// replaced. Providers also name paths whose values do not change; these are left out, unless the
// attribute is write-only, since a state never has its value. The result is empty if the object does
// not exist. A path into a set is compared as the set, and a path that neither value has is ignored.
func (t *Type) Replacements(requires []cty.Path, prior, planned cty.Value) []cty.Path {
	if prior.IsNull() || planned.IsNull() {
		return nil
	}
	var out []cty.Path
	for _, p := range requires {
		if f := t.root.at(p); f != nil && f.writeOnly {
			out = append(out, p)
			continue
		}
		before, hadBefore := apply(prior, p)
		after, hasAfter := apply(planned, p)
		switch {
		case !hadBefore && !hasAfter:
		case hadBefore && hasAfter && after.IsWhollyKnown() && same(before, after):
		case !hadBefore && after.IsNull(), !hasAfter && before.IsNull():
		default:
			out = append(out, p)
		}
	}
	return out
}

// at returns the field to which a path leads, or nil.
func (o *object) at(p cty.Path) *field {
	var f *field
	for _, s := range p {
		name, is := s.(cty.GetAttrStep)
		switch {
		case !is: // an element
		case f == nil:
			if f = o.fields[name.Name]; f == nil {
				return nil
			}
		case f.of == nil:
			return f
		default:
			if f = f.of.fields[name.Name]; f == nil {
				return nil
			}
		}
	}
	return f
}

// apply returns the value at a path, or the set on the way to it. It returns false if the path leads
// nowhere.
func apply(v cty.Value, p cty.Path) (cty.Value, bool) {
	for _, s := range p {
		if v.Type().IsSetType() || !v.IsKnown() {
			return v, true
		}
		next, err := s.Apply(v)
		if err != nil {
			return cty.NullVal(cty.DynamicPseudoType), false
		}
		v = next
	}
	return v, true
}
