package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// exampleAnnotation is the annotation of an attribute whose text is an example value.
const exampleAnnotation = "example"

// value returns the n-th allowed value of an attribute; false: none is known.
func value(a *definition.Attribute, n int) (any, bool) {
	single := *a
	single.Type = a.Base()
	for _, v := range candidates(&single) {
		if !allowed(&single, v) {
			continue
		}
		if n > 0 {
			n--
			continue
		}
		if a.List() {
			return []any{v}, true
		}
		return v, true
	}
	return nil, false
}

// allowed reports whether an attribute accepts a value.
func allowed(a *definition.Attribute, v any) bool {
	s := &definition.Service{Part: definition.Part{Attributes: []definition.Attribute{*a}}}
	s.Attributes[0].Modifier = definition.ReadWrite
	_, err := inventory.Ordered(s, map[string]any{a.Name: v})
	return err == nil
}

// candidates returns values of a type, the most suitable first.
func candidates(a *definition.Attribute) []any {
	var out []any
	if text, ok := a.Annotations[exampleAnnotation].(string); ok {
		return append(out, example(a.Type, text))
	}
	if a.DefaultSet && a.Default != nil {
		out = append(out, a.Default)
	}
	if values, ok := a.ValidationParam["values"].([]any); ok {
		return append(out, values...)
	}
	switch a.Type {
	case "bool":
		return append(out, true, false)
	case "dict":
		return append(out, map[string]any{})
	case "list":
		return append(out, []any{})
	case "int", "float", "number":
		return append(out, numbers(a)...)
	}
	for _, text := range texts(a) {
		out = append(out, text)
	}
	return out
}

// example parses the value of an example text.
func example(kind, text string) any {
	var v any
	if kind != "string" && json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return text
}

// numbers returns numbers near the bounds of an attribute.
func numbers(a *definition.Attribute) []any {
	out := []any{}
	add := func(v float64) {
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			out = append(out, int64(v))
		} else if a.Type != "int" {
			out = append(out, v)
		}
	}
	of := func(name string) (float64, bool) {
		v, err := strconv.ParseFloat(fmt.Sprint(a.ValidationParam[name]), 64)
		return v, err == nil
	}
	step, has := of("multiple_of")
	if !has {
		step = 1
	}
	for _, bound := range []string{"ge", "gt", "le", "lt"} {
		v, ok := of(bound)
		if !ok {
			continue
		}
		add(v)
		add(v + step/2)
		add(v - step/2)
		for n := range 3 {
			add((math.Floor(v/step) + float64(n+1)) * step)
			add((math.Ceil(v/step) - float64(n+1)) * step)
		}
	}
	for n := range 4 {
		add(float64(n+1) * step)
	}
	add(0)
	return out
}

// texts returns texts, those in the format of an attribute first.
func texts(a *definition.Attribute) []string {
	kind := ""
	if a.ValidationType != nil {
		kind = strings.ToLower(*a.ValidationType)
	}
	formats := []struct {
		name   string
		values []string
	}{
		{"network", []string{"192.0.2.0/24", "198.51.100.0/24", "2001:db8::/32"}},
		{"interface", []string{"192.0.2.1/24", "192.0.2.2/24", "2001:db8::1/64"}},
		{"ip", []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}},
		{"url", []string{"https://example.com/", "https://example.org/"}},
		{"email", []string{"trial@example.com", "other@example.com"}},
		{"datetime", []string{"2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"}},
		{"date", []string{"2026-01-01", "2026-01-02"}},
		{"time", []string{"12:00:00", "13:00:00"}},
		{"uuid", []string{idOf(0), idOf(1)}},
	}
	var first, rest []string
	for _, f := range formats {
		if len(first) == 0 && strings.Contains(kind, f.name) {
			first = f.values
			continue
		}
		rest = append(rest, f.values...)
	}
	plain := []string{
		"trial", "trial2", "trial3", "trial4", "a", "b", "A", "1", "2", "a1", "trial-1", "Trial",
		"example.com", "example.org", "00:00:5e:00:53:01", "00:00:5e:00:53:02", "65001", "65001:1",
		"/trial", "/tmp/trial", "/srv/trial", "eth0", "Ethernet0/1", "1.0.0", "env:TRIAL", "+32470000000",
	}
	const longest = 64 // covers length bounds
	for n := range longest {
		plain = append(plain, strings.Repeat("a", n+1), strings.Repeat("0", n+1))
	}
	if len(first) > 0 {
		return append(append(first, plain...), rest...)
	}
	return append(plain, rest...)
}
