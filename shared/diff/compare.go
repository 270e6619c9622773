package diff

import (
	"maps"
	"slices"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Compare returns the attributes whose current value differs from the desired one, or nil if there
// are none. It compares only properties, init_only and replace attributes with a desired value: nil
// or absent means that any value is accepted. Values are compared by resource.Equal. Other Go types
// that a handler reports (int, []string, ...) are first converted by resource.FromGo. The result
// holds the values of sensitive attributes in clear text. A caller that stores or shows it has to
// replace them.
func Compare(t *schema.Compiled, desired, current map[string]any) map[string]Diff {
	var out map[string]Diff
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if !Compared(a) {
			continue
		}
		want := desired[a.Name]
		have := current[a.Name]
		if want == nil || resource.Equal(want, have) {
			continue
		}
		if v, err := resource.FromGo(have); err == nil {
			if have = v; resource.Equal(want, have) {
				continue
			}
		}
		if out == nil {
			out = map[string]Diff{}
		}
		out[a.Name] = Diff{Current: have, Desired: want}
	}
	return out
}

// Compared reports whether the current value of an attribute is compared with the desired one. This
// is the case for properties, init_only and replace attributes.
func Compared(a *schema.Attribute) bool {
	return a.Behaviour == schema.Property || a.Behaviour == schema.InitOnly ||
		a.Behaviour == schema.Replace
}

// InitOnly returns the attributes among diffs that can only be set at creation, in the order of
// their declaration in the type. A difference that its handler removes by a replacement is not among
// them.
func InitOnly(t *schema.Compiled, diffs map[string]Diff) []string {
	return differing(t, diffs, func(a *schema.Attribute, d Diff) bool {
		return a.Behaviour == schema.InitOnly && !d.Replace
	})
}

// Replacing returns the attributes among diffs that can only be changed by replacing the object, in
// the order of their declaration in the type, and names that the type does not declare last.
func Replacing(t *schema.Compiled, diffs map[string]Diff) []string {
	out := differing(t, diffs, func(a *schema.Attribute, d Diff) bool {
		return a.Behaviour == schema.Replace || d.Replace
	})
	for _, name := range slices.Sorted(maps.Keys(diffs)) {
		if _, declared := t.Attribute(name); !declared && diffs[name].Replace {
			out = append(out, name)
		}
	}
	return out
}

// differing returns the attributes among diffs that is accepts, in the order of their declaration in
// the type.
func differing(
	t *schema.Compiled, diffs map[string]Diff, is func(*schema.Attribute, Diff) bool,
) []string {
	var out []string
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if d, differs := diffs[a.Name]; differs && is(a, d) {
			out = append(out, a.Name)
		}
	}
	return out
}
