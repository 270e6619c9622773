package value

import (
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/tf/wire"
)

// Proposed returns the state that a plan proposes to the provider: the configuration, completed by
// those parts of the prior state that the provider computes.
//
//   - An attribute that is computed and not configured keeps its prior value, which is null if the
//     object does not exist. The provider marks values as unknown.
//   - Other attributes have the configured value.
//   - Nested attributes and blocks are completed in the same way. Elements of lists correspond by
//     position, elements of maps by key. An element of a set corresponds to the first prior element
//     that is equal in all configured attributes and that no other element has taken.
//
// If config is null, the result is prior.
func (t *Type) Proposed(prior, config cty.Value) cty.Value { return t.root.proposed(prior, config) }

func (o *object) proposed(prior, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		if prior.IsNull() {
			return config
		}
		return prior
	}
	out := make(map[string]cty.Value, len(o.names))
	for _, name := range o.names {
		f, before := o.fields[name], o.fields[name].absent()
		if !prior.IsNull() {
			before = prior.GetAttr(name)
		}
		out[name] = f.proposed(before, config.GetAttr(name))
	}
	return cty.ObjectVal(out)
}

// absent returns the value of the field in a state that does not exist: blocks of most nestings are
// empty, as in a configuration that does not mention them.
func (f *field) absent() cty.Value {
	switch {
	case !f.block || f.nesting == wire.NestingSingle:
		return cty.NullVal(f.ty)
	case f.nesting == wire.NestingGroup:
		return f.of.empty()
	case f.nesting == wire.NestingList:
		return cty.ListValEmpty(f.of.ty)
	case f.nesting == wire.NestingSet:
		return cty.SetValEmpty(f.of.ty)
	}
	return cty.MapValEmpty(f.of.ty)
}

// empty returns the value of a block in which nothing is configured.
func (o *object) empty() cty.Value {
	out := make(map[string]cty.Value, len(o.names))
	for _, name := range o.names {
		out[name] = o.fields[name].absent()
	}
	return cty.ObjectVal(out)
}

func (f *field) proposed(prior, config cty.Value) cty.Value {
	switch {
	case f.computed && config.IsNull():
		if f.optional && f.of != nil && f.configured(prior) {
			return config // the author has removed the attribute
		}
		return prior
	case f.of == nil, config.IsNull() && f.nesting != wire.NestingGroup, !config.IsKnown():
		return config
	}
	switch f.nesting {
	case wire.NestingList:
		return f.list(prior, config)
	case wire.NestingMap:
		return f.byKey(prior, config)
	case wire.NestingSet:
		return f.set(prior, config)
	}
	return f.element(prior, config)
}

// element completes one object. A null object of nested attributes stays null.
func (f *field) element(prior, config cty.Value) cty.Value {
	if config.IsNull() && !f.block {
		return config
	}
	return f.of.proposed(prior, config)
}

func (f *field) list(prior, config cty.Value) cty.Value {
	var before []cty.Value
	if !prior.IsNull() {
		before = prior.AsValueSlice()
	}
	elements := config.AsValueSlice()
	for i := range min(len(elements), len(before)) {
		elements[i] = f.element(before[i], elements[i])
	}
	if len(elements) == 0 {
		return config
	}
	return cty.ListVal(elements)
}

func (f *field) byKey(prior, config cty.Value) cty.Value {
	elements := config.AsValueMap()
	if len(elements) == 0 {
		return config
	}
	if !prior.IsNull() {
		for key, before := range prior.AsValueMap() {
			if e, ok := elements[key]; ok {
				elements[key] = f.element(before, e)
			}
		}
	}
	return cty.MapVal(elements)
}

func (f *field) set(prior, config cty.Value) cty.Value {
	elements := config.AsValueSlice()
	if len(elements) == 0 {
		return config
	}
	var before []cty.Value
	if !prior.IsNull() {
		before = prior.AsValueSlice()
	}
	taken := make([]bool, len(before))
	for i, e := range elements {
		match := cty.NullVal(f.of.ty)
		for j, b := range before {
			if !taken[j] && f.of.from(b, e) {
				match, taken[j] = b, true
				break
			}
		}
		elements[i] = f.element(match, e)
	}
	return cty.SetVal(elements)
}

// from reports whether the configured object may have become the prior one: all parts of the prior
// object are equal, apart from computed attributes that are not configured.
func (o *object) from(prior, config cty.Value) bool {
	switch {
	case same(prior, config), prior.IsNull():
		return true
	case config.IsNull():
		return false
	}
	for _, name := range o.names {
		if !o.fields[name].from(prior.GetAttr(name), config.GetAttr(name)) {
			return false
		}
	}
	return true
}

// from compares one field. Sets have to be equal, since their elements do not correspond.
func (f *field) from(prior, config cty.Value) bool {
	switch {
	case same(prior, config):
		return true
	case f.ty.IsSetType():
		return false
	case f.of == nil:
		return f.computed && config.IsNull()
	case f.one():
		return f.of.from(prior, config)
	case prior.IsNull(), prior.LengthInt() == 0:
		return true
	case config.IsNull():
		return false
	}
	for key, before := range prior.Elements() {
		if config.IsKnown() && config.HasIndex(key).False() || !f.of.from(before, config.Index(key)) {
			return false
		}
	}
	return true
}

// same reports whether two values are equal. Two unknown values are equal.
func same(a, b cty.Value) bool { return unrefined(a).RawEquals(unrefined(b)) }

// unrefined removes all that is known about unknown values.
func unrefined(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		return v
	}
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return cty.UnknownVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return v // does not happen: the function returns no error
	}
	return out
}

// configured reports whether a prior value has an attribute, at any depth, that is not computed: so
// an author has configured the value before.
func (f *field) configured(v cty.Value) bool {
	if v.IsNull() || !v.IsKnown() || f.of == nil {
		return false
	}
	if f.one() {
		return f.of.configured(v)
	}
	for _, e := range v.Elements() {
		if f.of.configured(e) {
			return true
		}
	}
	return false
}

func (o *object) configured(v cty.Value) bool {
	if v.IsNull() || !v.IsKnown() {
		return false
	}
	for _, name := range o.names {
		f, in := o.fields[name], v.GetAttr(name)
		if !in.IsNull() && (!f.computed || f.configured(in)) {
			return true
		}
	}
	return false
}
