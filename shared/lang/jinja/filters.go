package jinja

import (
	"southbound/shared/lang/types"
)

// makeFilters returns all filters by name.
func makeFilters() map[string]builtin {
	f := map[string]builtin{}
	for _, group := range []map[string]builtin{textFilters(), numberFilters(), listFilters(),
		selectFilters(), markupFilters()} {
		for name, b := range group {
			f[name] = b
		}
	}
	for short, long := range map[string]string{"count": "length", "d": "default", "e": "escape"} {
		f[short] = f[long]
	}
	return f
}

// str converts an argument to text, as Python's str() does.
func (s *state) str(v types.Value) (string, error) { return s.text(v) }

// whole reads an integer argument.
func whole(what string, v types.Value) (int, error) {
	if u, ok := v.(*Undefined); ok {
		return 0, u.err()
	}
	n, ok := count(v)
	if !ok {
		return 0, failf("%s is a whole number, not %s", what, kindOf(v))
	}
	return n, nil
}

// like returns text as markup if the value that it was derived from is markup.
func like(v types.Value, text string) types.Value {
	if _, ok := v.(Markup); ok {
		return Markup(text)
	}
	return text
}
