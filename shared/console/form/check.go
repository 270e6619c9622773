package form

import (
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Check returns the violations of the rules of the definition. Pointers of problems are names of
// controls.
func (f *Form) Check(values map[string]any) diag.Problems {
	var err error
	if f.Base == nil {
		_, err = inventory.Ordered(f.Service, values)
	} else {
		_, err = inventory.Changed(f.Service, f.Base, values)
	}
	problems, _ := diag.Of(err)
	return f.Placed(values, problems)
}

// Placed returns problems of the API with the names of controls as pointers. A problem that names
// no value of the form has the pointer "".
func (f *Form) Placed(values map[string]any, problems diag.Problems) diag.Problems {
	out := make(diag.Problems, len(problems))
	for i, p := range problems {
		at, is := strings.CutPrefix(p.Pointer, inventory.PointerRoot)
		switch {
		case is:
			p.Pointer = at
		default:
			p.Pointer = pointerTo(f.Service, values, p.Attribute)
		}
		out[i] = p
	}
	return out
}

// pointerTo returns the pointer to a value that a path with keys names; "" if there is none.
func pointerTo(s *definition.Service, values map[string]any, text string) string {
	path, err := inventory.ParsePath(text)
	if err != nil {
		return ""
	}
	at, part, in := "", &s.Part, any(values)
	for n, step := range path {
		m, is := in.(map[string]any)
		if !is || part == nil || !has(part, step.Name) {
			return at
		}
		at, in = at+"/"+escaped(step.Name), m[step.Name]
		e := embedded(part, step.Name)
		if e == nil {
			return at
		}
		part = &e.Part
		if list, many := in.([]any); many && step.Keys != nil {
			i := find(list, step.Keys)
			if i < 0 {
				return at
			}
			at, in = at+"/"+strconv.Itoa(i), list[i]
		} else if many && n < len(path)-1 {
			return at
		}
	}
	return at
}

func find(list []any, keys []inventory.Key) int {
	for i, v := range list {
		m, is := v.(map[string]any)
		for _, k := range keys {
			is = is && inventory.Called(m[k.Name], k.Value)
		}
		if is {
			return i
		}
	}
	return -1
}

func embedded(p *definition.Part, name string) *definition.Embedded {
	for i := range p.Embedded {
		if p.Embedded[i].Name == name {
			return &p.Embedded[i]
		}
	}
	return nil
}

func has(p *definition.Part, name string) bool {
	for i := range p.Relations {
		if p.Relations[i].Name == name {
			return true
		}
	}
	return p.Attribute(name) != nil || embedded(p, name) != nil
}

// Further returns problems, and further ones with values that have none yet.
func Further(problems, further diag.Problems) diag.Problems {
	out := slices.Clone(problems)
	for _, p := range further {
		if !slices.ContainsFunc(problems, func(q diag.Problem) bool {
			return q.Pointer == p.Pointer || strings.HasPrefix(q.Pointer, p.Pointer+"/")
		}) {
			out.Add(p)
		}
	}
	return out
}

// OnlyMissing reports whether values are only missing, so that all others can be written as JSON.
func OnlyMissing(problems diag.Problems) bool {
	return !slices.ContainsFunc(problems, func(p diag.Problem) bool {
		_, err := strconv.Atoi(p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:])
		return p.Code != inventory.CodeMissing || err == nil // an item of a list
	})
}
