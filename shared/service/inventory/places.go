package inventory

import (
	"maps"
	"slices"
	"strconv"
)

// Place is a position in a set of attributes that a path matches.
type Place struct {
	At    string // the position in the set
	Value any    // nil if there is no value
}

// Places returns all positions in a set of attributes that a path matches. A step without keys
// matches all members of a list.
func (p Path) Places(set map[string]any) []Place {
	if len(p) == 0 || set == nil {
		return nil
	}
	step, rest := p[0], p[1:]
	v, at := set[step.Name], strconv.Quote(step.Name)
	items, many := v.([]any)
	switch {
	case step.Keys == nil && len(rest) == 0:
		return []Place{{at, v}}
	case !many:
		m, _ := v.(map[string]any)
		if m == nil || step.Keys != nil && !matches(m, step.Keys) {
			return nil
		}
		return rest.below(at, m)
	}
	var out []Place
	for i, item := range items {
		m, ok := item.(map[string]any)
		if ok && (step.Keys == nil || matches(m, step.Keys)) {
			out = append(out, rest.below(at+"/"+strconv.Itoa(i), m)...)
		}
	}
	return out
}

// below returns the positions that a path matches below a member.
func (p Path) below(at string, m map[string]any) []Place {
	if len(p) == 0 {
		return []Place{{at, m}}
	}
	out := p.Places(m)
	for i := range out {
		out[i].At = at + "." + out[i].At
	}
	return out
}

// Shape returns the path without keys: it matches the same attribute of all members.
func (p Path) Shape() Path {
	out := make(Path, len(p))
	for i, s := range p {
		out[i] = Step{Name: s.Name}
	}
	return out
}

// Put returns a set of attributes with a value at all positions that the path matches.
func (p Path) Put(set map[string]any, value any) map[string]any {
	if len(p) == 0 || set == nil {
		return set
	}
	step, out := p[0], maps.Clone(set)
	switch held := set[step.Name].(type) {
	case map[string]any:
		if len(p) > 1 && (step.Keys == nil || matches(held, step.Keys)) {
			out[step.Name] = p[1:].Put(held, value)
			return out
		}
	case []any:
		if step.Keys == nil && len(p) == 1 {
			break
		}
		items := slices.Clone(held)
		for i, item := range items {
			m, ok := item.(map[string]any)
			if ok && (step.Keys == nil || matches(m, step.Keys)) {
				items[i] = p[1:].Put(m, value)
			}
		}
		out[step.Name] = items
		return out
	}
	if len(p) == 1 && step.Keys == nil {
		out[step.Name] = value
	}
	return out
}
