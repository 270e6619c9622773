package plan

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Compare returns the attributes in which current is not as desired; nil when there is none. Only properties and init_only attributes are
// compared, and of these only the ones that are wanted: nil and absent are no wish. Values are compared by resource.Equal; Go values that a
// handler reports as it has them (int, []string, ...) are taken for the values that they are. Values of sensitive attributes are in the
// result in clear: whoever stores or shows it replaces them.
func Compare(t *schema.Compiled, desired, current map[string]any) map[string]Diff {
	var out map[string]Diff
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if a.Behaviour != schema.Property && a.Behaviour != schema.InitOnly {
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

// InitOnly returns the attributes among diffs that can only be set at creation, in the order in which the type declares them.
func InitOnly(t *schema.Compiled, diffs map[string]Diff) []string {
	var out []string
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if _, differs := diffs[a.Name]; differs && a.Behaviour == schema.InitOnly {
			out = append(out, a.Name)
		}
	}
	return out
}
