package definition

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Diff returns the differences between two definitions, a line each. It ignores differences that do
// not affect instances, such as descriptions.
func Diff(was, is *Service) []string {
	out := diffPart(&was.Part, &is.Part, "")
	text := func(s *string) string {
		if s == nil {
			return "none"
		}
		return *s
	}
	if a, b := text(was.Identity), text(is.Identity); a != b {
		out = append(out, fmt.Sprintf("identity: %s, and was %s", b, a))
	}
	if was.Strict != is.Strict {
		out = append(out, fmt.Sprintf("strict modifiers: %v, and was %v", is.Strict, was.Strict))
	}
	a, b := map[string]any{}, map[string]any{}
	var order []string
	add := func(to map[string]any, name string, v any) {
		if _, twice := to[name]; twice {
			return
		}
		to[name] = v
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	for _, one := range []struct {
		of *Service
		to map[string]any
	}{{was, a}, {is, b}} {
		for _, s := range one.of.Lifecycle.States {
			s.Values, s.Annotations = nil, nil
			add(one.to, "state "+s.Name, s)
		}
		for _, t := range one.of.Lifecycle.Transfers {
			t.Annotations, t.Description = nil, ""
			add(one.to, fmt.Sprintf("transfer %s → %s", t.Source, t.Target), t)
		}
	}
	return append(out, compared(a, b, order)...)
}

// diffPart compares attributes, relations and embedded entities.
func diffPart(was, is *Part, path string) []string {
	a, b := map[string]any{}, map[string]any{}
	var order []string
	for _, one := range []struct {
		of *Part
		to map[string]any
	}{{was, a}, {is, b}} {
		add := func(name string, v any) {
			one.to[name] = v
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
		for _, at := range one.of.Attributes {
			at.Annotations, at.Description = nil, nil
			if len(at.ValidationParam) == 0 {
				at.ValidationParam = nil
			}
			add("attribute "+path+at.Name, at)
		}
		for _, r := range one.of.Relations {
			r.Annotations, r.Description = nil, nil
			add("relation "+path+r.Name, r)
		}
		for _, e := range one.of.Embedded {
			add("embedded "+path+e.Name, []any{e.Modifier, e.Limits, e.KeyAttributes})
		}
	}
	out := compared(a, b, order)
	for i := range was.Embedded {
		for j := range is.Embedded {
			if was.Embedded[i].Name == is.Embedded[j].Name {
				out = append(out, diffPart(&was.Embedded[i].Part, &is.Embedded[j].Part,
					path+is.Embedded[j].Name+".")...)
			}
		}
	}
	return out
}

// compared returns the new, dropped and changed entries.
func compared(a, b map[string]any, order []string) []string {
	var out []string
	for _, name := range order {
		was, had := a[name]
		is, has := b[name]
		switch {
		case !had:
			out = append(out, name+": new")
		case !has:
			out = append(out, name+": dropped")
		case written(was) != written(is):
			out = append(out, name+": changed")
		}
	}
	return out
}

func written(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
