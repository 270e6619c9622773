package value

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"southbound/shared/tf/wire"
)

// Pointer returns a path as a text, such as parts/0/no. A / within a name is written as ~1, and a ~
// as ~0, as in a JSON pointer. An element of a set has no position, so a path ends at the set.
func Pointer(p cty.Path) string {
	steps := make([]string, 0, len(p))
	for _, s := range p {
		switch s := s.(type) {
		case cty.GetAttrStep:
			steps = append(steps, escape(s.Name))
		case cty.IndexStep:
			if !s.Key.IsKnown() || s.Key.IsNull() {
				return strings.Join(steps, "/")
			}
			switch s.Key.Type() {
			case cty.String:
				steps = append(steps, escape(s.Key.AsString()))
			case cty.Number:
				n, _ := s.Key.AsBigFloat().Int64()
				steps = append(steps, strconv.FormatInt(n, 10))
			default:
				return strings.Join(steps, "/")
			}
		}
	}
	return strings.Join(steps, "/")
}

func escape(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// Sensitive returns the paths of all values in v that the schema declares sensitive and that are
// not null. Paths into sets end at the set.
func (t *Type) Sensitive(v cty.Value) []cty.Path {
	return t.root.find(nil, v, func(f *field) bool { return f.sensitive })
}

// WriteOnly returns the paths of all values in v that the schema declares write-only and that are
// not null. A write-only value is sent in a configuration, and is never in a state.
func (t *Type) WriteOnly(v cty.Value) []cty.Path {
	return t.root.find(nil, v, func(f *field) bool { return f.writeOnly })
}

// IsWriteOnly reports whether the schema declares an attribute of the resource write-only.
func (t *Type) IsWriteOnly(name string) bool {
	f := t.root.fields[name]
	return f != nil && f.writeOnly
}

// find returns the paths in v of the fields that are selected.
func (o *object) find(at cty.Path, v cty.Value, selected func(*field) bool) []cty.Path {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	var out []cty.Path
	for _, name := range o.names {
		f, in := o.fields[name], v.GetAttr(name)
		path := append(slices.Clip(at), cty.GetAttrStep{Name: name})
		switch {
		case in.IsNull():
		case selected(f):
			out = append(out, path)
		case f.of == nil || !in.IsKnown():
		case f.one():
			out = append(out, f.of.find(path, in, selected)...)
		default:
			out = append(out, f.findIn(path, in, selected)...)
		}
	}
	return out
}

func (f *field) findIn(at cty.Path, v cty.Value, selected func(*field) bool) []cty.Path {
	var out []cty.Path
	for key, e := range v.Elements() {
		if f.nesting == wire.NestingSet {
			if len(f.of.find(nil, e, selected)) > 0 {
				return []cty.Path{at}
			}
			continue
		}
		out = append(out, f.of.find(append(slices.Clip(at), cty.IndexStep{Key: key}), e, selected)...)
	}
	return out
}
