package tf

import (
	"errors"
	"maps"
	"slices"
)

// fit removes values that the provider does not accept in a configuration, among the optional ones,
// which may come from the provider alone: attributes that exclude each other, for example. If that does
// not help, it returns all attributes with a note. validate returns the reason why a configuration is
// not valid, or nil.
func fit(
	m *meta, all map[string]any, optional []string,
	validate func(attributes map[string]any) (refused, err error),
) (attributes map[string]any, note string, err error) {
	attributes = maps.Clone(all)
	refused, err := validate(attributes)
	first := refused
	for err == nil && refused != nil {
		drop := refusedNames(m, refused, attributes, optional)
		if len(drop) == 0 {
			drop = slices.DeleteFunc(slices.Clone(optional),
				func(name string) bool { return attributes[name] == nil })
		}
		if len(drop) == 0 {
			return all, "complete it, since it is not valid: " + textOf(first), nil
		}
		for _, name := range drop {
			delete(attributes, name)
		}
		refused, err = validate(attributes)
	}
	return attributes, "", err
}

// refusedNames returns the optional attributes that the errors of a provider name.
func refusedNames(m *meta, refused error, attributes map[string]any, optional []string) []string {
	var out []string
	var f *failure
	if !errors.As(refused, &f) {
		return nil
	}
	for _, d := range f.diagnostics {
		name := m.here(top(pathOf(d.Path)))
		if attributes[name] != nil && slices.Contains(optional, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
