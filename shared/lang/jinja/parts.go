package jinja

import (
	"strings"

	"southbound/shared/lang/types"
)

// output is text that a template writes, and the references among it.
type output struct {
	text   strings.Builder
	placed []placed
}

// placed is a reference in an output. Its value is known only when resources are deployed.
type placed struct {
	at  int // bytes of text before it
	ref types.Reference
}

// value returns the output as a value: a string, or a *types.LaterText if it has references.
func (o *output) value() types.Value {
	text := o.text.String()
	if len(o.placed) == 0 {
		return text
	}
	var parts []types.Value
	at := 0
	for _, p := range o.placed {
		parts = append(parts, text[at:p.at], p.ref)
		at = p.at
	}
	return types.JoinText(append(parts, text[at:])...)
}

// later returns the error for a use of a reference that needs its value.
func later(r types.Reference) error {
	return failf("the reference %s cannot be used here: its value is known only when resources are "+
		"deployed; write {{ … }} with it alone", r.ReferenceName())
}

// print writes a value. A reference becomes a part of the output.
func (s *state) print(v types.Value) error {
	if r, is := v.(types.Reference); is {
		if s.escaping {
			return unescaped(r)
		}
		s.out.placed = append(s.out.placed, placed{s.out.text.Len(), r})
		return nil
	}
	text, err := s.written(v, s.escaping)
	if err != nil {
		return err
	}
	return s.write(text)
}

func isReference(v types.Value) bool { _, is := v.(types.Reference); return is }

// unescaped returns the error for a reference where a template escapes its output.
func unescaped(v types.Value) error {
	return failf("%s cannot be escaped: its value is known only when resources are deployed; write "+
		"it outside of autoescape", types.Repr(v))
}

// joined returns the text of several values, of which some are references.
func (s *state) joined(values []types.Value) (types.Value, error) {
	parts := make([]types.Value, len(values))
	for i, v := range values {
		if r, is := v.(types.Reference); is {
			parts[i] = r
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
