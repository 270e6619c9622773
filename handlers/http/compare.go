package http

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/resource"
)

// at returns the value that a JSON pointer refers to.
func at(v any, pointer string) (any, bool) {
	for _, part := range segments(pointer) {
		switch in := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = in[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) || strconv.Itoa(i) != part {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// segments returns the parts of a JSON pointer.
func segments(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}

// scalarText returns a value in the form of an id or a fact.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case string:
		return v, v != ""
	case map[string]any, []any:
		return "", false
	}
	if t, ok := resource.KeyText(v); ok {
		return t, true
	}
	return fmt.Sprint(v), true
}

// comparison compares a desired template with the read value.
type comparison struct {
	scope  *scope
	ignore [][]string
	sets   []set
}

type set struct {
	path []string
	key  string
}

func newComparison(s *scope, attrs map[string]any) *comparison {
	c := &comparison{scope: s}
	list, _ := attrs["ignore"].([]any)
	for _, p := range list {
		text, _ := p.(string)
		c.ignore = append(c.ignore, segments(text))
	}
	m, _ := attrs["sets"].(map[string]any)
	for p, key := range m {
		text, _ := key.(string)
		c.sets = append(c.sets, set{segments(p), text})
	}
	return c
}

// fits reports whether a pattern matches a place.
func fits(pattern, place []string) bool {
	return slices.EqualFunc(pattern, place, func(p, s string) bool { return p == "*" || p == s })
}

// otherSecret replaces a value that differs from the desired secret.
const otherSecret = "(another value)"

// seen returns the read value in the form of the template. Where both are equal, it returns the
// template itself, so that only real differences differ. Members that the template does not have
// are omitted.
func (c *comparison) seen(template, have any, place []string) (any, error) {
	if c.ignored(place) {
		return template, nil
	}
	if have == nil && empty(template) {
		return template, nil
	}
	switch want := template.(type) {
	case map[string]any:
		in, ok := have.(map[string]any)
		if !ok {
			return c.raw(template, have), nil
		}
		out := make(map[string]any, len(want))
		for k, w := range want {
			h, there := in[k]
			if !there && !empty(w) && !c.ignored(append(slices.Clone(place), k)) {
				continue
			}
			var err error
			if out[k], err = c.seen(w, h, append(slices.Clone(place), k)); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		in, ok := have.([]any)
		if !ok {
			return c.raw(template, have), nil
		}
		return c.list(want, in, place)
	}
	want, err := c.scope.body(template)
	if err != nil {
		return nil, err
	}
	if covers(want, have) {
		return template, nil
	}
	return c.raw(template, have), nil
}

// empty reports whether a value is one that many APIs omit.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (c *comparison) ignored(place []string) bool {
	return slices.ContainsFunc(c.ignore, func(p []string) bool { return fits(p, place) })
}

// list compares lists: item by item, or as sets.
func (c *comparison) list(want, have []any, place []string) (any, error) {
	for _, s := range c.sets {
		if fits(s.path, place) {
			var err error
			if have, err = c.ordered(want, have, s.key); err != nil {
				return nil, err
			}
		}
	}
	out := make([]any, 0, len(have))
	for i, h := range have {
		if i >= len(want) {
			out = append(out, c.raw(want, h))
			continue
		}
		v, err := c.seen(want[i], h, append(slices.Clone(place), strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// ordered returns the read items in the order of the desired ones; other items follow.
func (c *comparison) ordered(want, have []any, key string) ([]any, error) {
	left := slices.Clone(have)
	var out []any
	for _, w := range want {
		filled, err := c.scope.body(w)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(left, func(h any) bool { return sameItem(filled, h, key) })
		if i >= 0 {
			out = append(out, left[i])
			left = slices.Delete(left, i, i+1)
		}
	}
	return append(out, left...), nil
}

func sameItem(want, have any, key string) bool {
	if key == "" {
		return covers(want, have)
	}
	w, ok := want.(map[string]any)
	h, also := have.(map[string]any)
	return ok && also && w[key] != nil && resource.Equal(w[key], h[key])
}

// covers reports whether the read value has all desired members. Lists are compared item by item;
// null and empty values equal a missing value.
func covers(want, have any) bool {
	if have == nil {
		return empty(want)
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range w {
			if !covers(v, h[k]) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		return ok && slices.EqualFunc(w, h, covers)
	}
	return resource.Equal(want, have)
}

// maxShown is how many bytes of a read value are shown.
const maxShown = 2000

// raw returns a read value that differs, in a form that may be shown.
func (c *comparison) raw(template, have any) any {
	if c.scope.hidden(template) {
		return otherSecret
	}
	if have == nil {
		return nil
	}
	text, ok := have.(string)
	if !ok {
		b, err := json.Marshal(have)
		if err == nil && len(b) <= maxShown {
			return have
		}
		return fmt.Sprintf("(%d bytes of JSON)", len(b))
	}
	text = literal(text) // it must not be mistaken for the template
	if len(text) > maxShown {
		return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(text))
	}
	return text
}
