package plan

import (
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Compare returns the attributes that differ. Only properties and init_only attributes are compared; what is not wanted (nil or absent) never
// differs.
func Compare(t *schema.Compiled, desired, current map[string]any) map[string]Diff {
	var out map[string]Diff
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if a.Behaviour != schema.Property && a.Behaviour != schema.InitOnly {
			continue
		}
		want := desired[a.Name]
		if want == nil || resource.Equal(want, current[a.Name]) {
			continue
		}
		if out == nil {
			out = map[string]Diff{}
		}
		out[a.Name] = Diff{Current: current[a.Name], Desired: want}
	}
	return out
}

// InitOnly returns the attributes among diffs that can only be set at creation, in declared order.
func InitOnly(t *schema.Compiled, diffs map[string]Diff) []string {
	var out []string
	for i := range t.Attributes {
		if _, ok := diffs[t.Attributes[i].Name]; ok && t.Attributes[i].Behaviour == schema.InitOnly {
			out = append(out, t.Attributes[i].Name)
		}
	}
	return out
}
