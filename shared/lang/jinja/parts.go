package jinja

import (
	"strings"

	"southbound/shared/lang/types"
)

// output is text that a template writes, and the values among it that become known later.
type output struct {
	text   strings.Builder
	placed []placed
}

// placed is a reference or a fact in an output. Its value is known only when resources are deployed.
type placed struct {
	at int // bytes of text before it
	of types.Value
}

// value returns the output as a value: a string, or the value of types.JoinText if it has values that
// become known later.
func (o *output) value() types.Value {
	text := o.text.String()
	if len(o.placed) == 0 {
		return text
	}
	var parts []types.Value
	at := 0
	for _, p := range o.placed {
		parts = append(parts, text[at:p.at], p.of)
		at = p.at
	}
	return types.JoinText(append(parts, text[at:])...)
}

// later returns the error for a use of a reference, or of a fact that is not known yet, that needs its
// value.
func later(v types.Value) error {
	r, is := v.(types.Reference)
	if !is {
		return ErrUnknown
	}
	return failf("the reference %s cannot be used here: its value is known only when resources are "+
		"deployed; write {{ … }} with it alone", r.ReferenceName())
}

// print writes a value. A reference, and a fact that is not known yet, become parts of the output.
func (s *state) print(v types.Value) error {
	if isLater(v) {
		if s.escaping {
			return unescaped(v)
		}
		s.out.placed = append(s.out.placed, placed{s.out.text.Len(), v})
		return nil
	}
	text, err := s.written(v, s.escaping)
	if err != nil {
		return err
	}
	return s.write(text)
}

// isLater reports whether a value becomes known when resources are deployed.
func isLater(v types.Value) bool {
	_, is := v.(types.Reference)
	return is || types.IsUnknown(v) && types.InText(v)
}

// unescaped returns the error for a reference where a template escapes its output.
func unescaped(v types.Value) error {
	if types.IsUnknown(v) {
		return ErrUnknown
	}
	return failf("%s cannot be escaped: its value is known only when resources are deployed; write "+
		"it outside of autoescape", types.Repr(v))
}

// joined returns the text of several values, of which some become known later.
func (s *state) joined(values []types.Value) (types.Value, error) {
	parts := make([]types.Value, len(values))
	for i, v := range values {
		if isLater(v) {
			parts[i] = v
			continue
		}
		text, err := s.text(v)
		if err != nil {
			return nil, err
		}
		parts[i] = text
	}
	return types.JoinText(parts...), nil
}
