package diff

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Compare returns the attributes in which current is not as desired; nil if there are none. Only
// properties, init_only and replace attributes are compared, and of these only the ones with a
// desired value: nil and absent mean that any value will do. Values are compared by resource.Equal,
// after resource.FromGo where a handler reports other Go types (int, []string, ...). The result
// holds the values of sensitive attributes in clear: whoever stores or shows it has to replace
// them.
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

// Compared reports whether an attribute of the real thing is compared with what is wanted:
// properties, init_only and replace attributes are.
func Compared(a *schema.Attribute) bool {
	return a.Behaviour == schema.Property || a.Behaviour == schema.InitOnly ||
		a.Behaviour == schema.Replace
}

// InitOnly returns the attributes among diffs that can only be set at creation, in the order in
// which the type declares them.
func InitOnly(t *schema.Compiled, diffs map[string]Diff) []string {
	return differing(t, diffs, schema.InitOnly)
}

// Replacing returns the attributes among diffs that can only be changed by replacing the thing, in
// the order in which the type declares them.
func Replacing(t *schema.Compiled, diffs map[string]Diff) []string {
	return differing(t, diffs, schema.Replace)
}

func differing(t *schema.Compiled, diffs map[string]Diff, behaviour schema.Behaviour) []string {
	var out []string
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if _, differs := diffs[a.Name]; differs && a.Behaviour == behaviour {
			out = append(out, a.Name)
		}
	}
	return out
}
