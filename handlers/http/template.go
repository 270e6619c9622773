package http

import (
	"fmt"
	"maps"
	"net/url"
	"strings"

	"southbound/shared/pattern"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

var (
	inPath = pattern.Lazy(`\{([a-z_][a-zA-Z0-9_]*)\}`)
	whole  = pattern.Lazy(`\A\$([a-z_][a-zA-Z0-9_]*)\z`)
	inText = pattern.Lazy(`\$\$|\$\{([a-z_][a-zA-Z0-9_]*)\}`)
)

// pathNames returns the names to which a path refers.
func pathNames(path string) []string {
	var out []string
	for _, m := range inPath().FindAllStringSubmatch(path, -1) {
		out = append(out, m[1])
	}
	return out
}

// bodyNames returns the names to which a value refers, in no order.
func bodyNames(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		if m := whole().FindStringSubmatch(v); m != nil {
			return []string{m[1]}
		}
		for _, m := range inText().FindAllStringSubmatch(v, -1) {
			if m[1] != "" {
				out = append(out, m[1])
			}
		}
	case []any:
		for _, e := range v {
			out = append(out, bodyNames(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, bodyNames(e)...)
		}
	}
	return out
}

// scope holds the values of names.
type scope struct {
	values map[string]any
	secret map[string]bool
}

func newScope(r provider.Resource) *scope {
	s := &scope{values: map[string]any{}, secret: map[string]bool{}}
	for _, from := range []string{"vars", "secrets"} {
		m, _ := r.Attributes[from].(map[string]any)
		for n, v := range m {
			s.values[n], s.secret[n] = v, from == "secrets"
		}
	}
	s.values["name"] = r.Attributes["name"]
	return s
}

// forHeaders returns the scope for headers, in which secrets have no line end at their end.
func (s *scope) forHeaders() *scope {
	out := &scope{values: maps.Clone(s.values), secret: s.secret}
	for name, v := range out.values {
		if text, is := v.(string); is && s.secret[name] {
			out.values[name] = schema.CutLineEnd(text)
		}
	}
	return out
}

// with returns the scope with an id.
func (s *scope) with(id string) *scope {
	if id == "" {
		return s
	}
	out := &scope{values: map[string]any{"id": id}, secret: s.secret}
	for n, v := range s.values {
		if n != "id" {
			out.values[n] = v
		}
	}
	return out
}

// lookup returns the value of a name.
func (s *scope) lookup(name string) (any, error) {
	v, ok := s.values[name]
	if !ok {
		return nil, provider.Errorf(provider.NeedsChange, "nothing is called %q here", name)
	}
	return v, nil
}

// text returns a value in its form within a text.
func (s *scope) text(name string) (string, error) {
	v, err := s.lookup(name)
	if err != nil {
		return "", err
	}
	if t, ok := v.(string); ok {
		return t, nil
	}
	if t, ok := resource.KeyText(v); ok {
		return t, nil
	}
	return "", provider.Errorf(provider.NeedsChange,
		"%q is neither text nor a number, and stands in a text", name)
}

// path fills a path in. Values are escaped, so that they never change the structure of the path.
func (s *scope) path(path string) (string, error) {
	var bad error
	before, query, asks := strings.Cut(path, "?")
	fill := func(part string, escape func(string) string) string {
		return inPath().ReplaceAllStringFunc(part, func(ref string) string {
			t, err := s.text(ref[1 : len(ref)-1])
			if err == nil && t == "" {
				err = provider.Errorf(provider.NeedsChange, "%s in the path %s is empty", ref, path)
			}
			if err != nil {
				bad = err
			}
			return escape(t)
		})
	}
	out := fill(before, url.PathEscape)
	if asks {
		out += "?" + fill(query, url.QueryEscape)
	}
	return out, bad
}

// body fills in a value.
func (s *scope) body(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if m := whole().FindStringSubmatch(v); m != nil {
			return s.lookup(m[1])
		}
		var bad error
		out := inText().ReplaceAllStringFunc(v, func(ref string) string {
			if ref == "$$" {
				return "$"
			}
			t, err := s.text(ref[2 : len(ref)-1])
			if err != nil {
				bad = err
			}
			return t
		})
		return out, bad
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = s.body(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if out[k], err = s.body(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// bodyName is the name of body in the bodies of requests.
const bodyName = "body"

// whole fills in the body of a request, which may refer to the body of the object.
func (s *scope) whole(v, body any) (any, error) {
	filled, err := s.body(body)
	if err != nil {
		return nil, err
	}
	in := &scope{values: maps.Clone(s.values), secret: s.secret}
	in.values[bodyName] = filled
	return in.body(v)
}

// hidden reports whether a value contains a secret.
func (s *scope) hidden(v any) bool {
	for _, n := range bodyNames(v) {
		if s.secret[n] {
			return true
		}
	}
	return false
}

// object returns a map filled in; nil if there is none.
func (s *scope) object(v any) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	filled, err := s.body(v)
	if err != nil {
		return nil, err
	}
	m, ok := filled.(map[string]any)
	if !ok {
		return nil, provider.Errorf(provider.NeedsChange, "expected members with values, got %s",
			fmt.Sprintf("%T", filled))
	}
	return m, nil
}
