package adopt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// extractor makes the configuration of an object from its state: the values of the attributes that a
// document may set. A state does not say which of them were configured.
type extractor struct {
	marked map[string]bool // paths that the writer of the state has marked as sensitive
	// secret returns the reference that stands for a sensitive text. at is the path of the text.
	secret func(at, text string) any
	failed error // the first sensitive value that no reference can stand for
}

// ConfigOf returns the values of an object that a document may set, by the names of the schema,
// and those names among them whose values may come from the provider alone. secret returns the value
// that stands for a sensitive text, at a path. A sensitive value that is no text is an error.
func ConfigOf(b *wire.Block, v cty.Value, allowed func(name string) bool,
	secret func(at, text string) any) (out map[string]any, optional []string, err error) {
	x := &extractor{secret: secret}
	out, optional = x.configuration(b, v, allowed)
	return out, optional, x.failed
}

// configuration returns the values of an object by the names of the schema. optional are the
// attributes whose values may come from the provider alone: their type is optional and computed, or
// the value is an empty text.
func (x *extractor) configuration(
	b *wire.Block, v cty.Value, allowed func(name string) bool,
) (out map[string]any, optional []string) {
	top := *b
	top.Attributes = slices.DeleteFunc(slices.Clone(b.Attributes),
		func(a wire.Attribute) bool { return !allowed(a.Name) })
	top.Blocks = slices.DeleteFunc(slices.Clone(b.Blocks),
		func(n wire.NestedBlock) bool { return !allowed(n.Name) })
	out = x.block(&top, v, nil)
	for i := range top.Attributes {
		a := &top.Attributes[i]
		if set, is := out[a.Name]; is && !a.Required && (a.Computed || set == "") {
			optional = append(optional, a.Name)
		}
	}
	return out, optional
}

func (x *extractor) block(b *wire.Block, v cty.Value, at cty.Path) map[string]any {
	out := x.attributes(b.Attributes, v, at)
	for i := range b.Blocks {
		n := &b.Blocks[i]
		if !v.Type().HasAttribute(n.Name) {
			continue
		}
		in, path := v.GetAttr(n.Name), at.GetAttr(n.Name)
		if in.IsNull() {
			continue
		}
		if x.marked[value.Pointer(path)] {
			x.fail("the block %s is sensitive", value.Pointer(path))
			continue
		}
		all := x.collect(n.Nesting, in, path, func(e cty.Value, at cty.Path) any {
			return x.block(&n.Block, e, at)
		})
		if !empty(all) {
			out[n.Name] = all
		}
	}
	return out
}

// empty reports whether nothing is configured in a block.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func (x *extractor) attributes(list []wire.Attribute, v cty.Value, at cty.Path) map[string]any {
	out := map[string]any{}
	for i := range list {
		a := &list[i]
		reported := a.Computed && !a.Optional && !a.Required
		outdated := (a.Deprecated || a.DeprecationMessage != "") && a.Computed && !a.Required
		if reported || outdated || a.WriteOnly || !v.Type().HasAttribute(a.Name) {
			continue
		}
		in, path := v.GetAttr(a.Name), at.GetAttr(a.Name)
		hidden := a.Sensitive || x.marked[value.Pointer(path)]
		switch {
		case in.IsNull():
		case hidden && in.Type() != cty.String:
			if !a.Computed || a.Required {
				x.fail("the attribute %s is sensitive, and is no text", value.Pointer(path))
			}
		case hidden:
			out[a.Name] = x.secret(value.Pointer(path), in.AsString())
		case a.Nested != nil:
			out[a.Name] = x.collect(a.Nested.Nesting, in, path, func(e cty.Value, at cty.Path) any {
				return x.attributes(a.Nested.Attributes, e, at)
			})
		default:
			out[a.Name] = x.plain(in, path)
		}
	}
	return out
}

func (x *extractor) fail(format string, args ...any) {
	if x.failed == nil {
		x.failed = fmt.Errorf(format, args...)
	}
}

// collect converts nested objects.
func (x *extractor) collect(
	nesting wire.Nesting, v cty.Value, at cty.Path, one func(cty.Value, cty.Path) any,
) any {
	switch nesting {
	case wire.NestingSingle, wire.NestingGroup:
		return one(v, at)
	case wire.NestingMap:
		out := map[string]any{}
		for key, e := range v.AsValueMap() {
			if !e.IsNull() {
				out[key] = one(e, at.IndexString(key))
			}
		}
		return out
	}
	out := []any{}
	for i, e := range v.AsValueSlice() {
		if e.IsNull() {
			continue
		}
		in := at.IndexInt(i)
		if v.Type().IsSetType() { // a path into a set ends at the set
			in = at
		}
		out = append(out, one(e, in))
	}
	return out
}

// plain converts a value without a schema of its own.
func (x *extractor) plain(v cty.Value, at cty.Path) any {
	if v.IsNull() {
		return nil
	}
	ty := v.Type()
	if x.marked[value.Pointer(at)] {
		if ty == cty.String {
			return x.secret(value.Pointer(at), v.AsString())
		}
		x.fail("the value %s is sensitive, and is no text", value.Pointer(at))
		return nil
	}
	switch {
	case ty.IsMapType(), ty.IsObjectType():
		out := map[string]any{}
		for key, e := range v.AsValueMap() {
			in := at.IndexString(key)
			if ty.IsObjectType() {
				in = at.GetAttr(key)
			}
			if p := x.plain(e, in); p != nil || ty.IsMapType() {
				out[key] = p
			}
		}
		return out
	case ty.IsListType(), ty.IsTupleType():
		out := []any{}
		for i, e := range v.AsValueSlice() {
			out = append(out, x.plain(e, at.IndexInt(i)))
		}
		return out
	}
	return value.Plain(v)
}

// outputs returns the sensitive attributes of an object by the names of the schema, as the handler of
// the type keeps them: references to them need no variable.
func outputs(t *value.Type, v cty.Value) map[string]any {
	all, out := t.Attributes(v), map[string]any{}
	for _, p := range t.Sensitive(v) {
		if step, is := p[0].(cty.GetAttrStep); is && all[step.Name] != nil {
			out[step.Name] = all[step.Name]
		}
	}
	return out
}

// texts returns all texts within a value of an attribute.
func texts(v any, add func(string)) {
	switch v := v.(type) {
	case string:
		add(v)
	case []any:
		for _, e := range v {
			texts(e, add)
		}
	case map[string]any:
		for _, e := range v {
			texts(e, add)
		}
	}
}

// variable returns the name of an environment variable made of parts.
func variable(parts ...string) string {
	upper := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}
	out := strings.Trim(strings.Map(upper, strings.Join(parts, "_")), "_")
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		out = "V_" + out
	}
	return out
}

// unique returns a text that is not taken: the text itself, or with a number.
func unique(text string, taken map[string]bool) string {
	out := text
	for n := 2; taken[out]; n++ {
		out = text + "_" + strconv.Itoa(n)
	}
	taken[out] = true
	return out
}
