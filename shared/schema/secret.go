package schema

import (
	"strings"

	"southbound/shared/resource"
)

// CutLineEnd removes one line end from the end of a text.
func CutLineEnd(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// WithSecrets replaces the secrets in a value by their texts, in a form that the attribute accepts.
// It uses the bytes unchanged. If the attribute is OneLine, or its type does not accept the
// unchanged text, it removes one line end. Inside a text of parts, it always removes one line end. A secret that is the whole value may also be a number, a
// boolean or JSON. ok is false if the type accepts none of these forms. WithSecrets calls text once
// for each secret.
func (a *CompiledAttribute) WithSecrets(
	written any, text func(resource.Secret) (string, error),
) (value any, ok bool, err error) {
	texts := map[resource.Secret]string{}
	for _, ref := range resource.References(written) {
		s, is := ref.(resource.Secret)
		if _, known := texts[s]; is && !known {
			if texts[s], err = text(s); err != nil {
				return nil, false, err
			}
		}
	}
	if len(texts) == 0 {
		return written, true, nil
	}
	fill := func(edit func(string) string) any {
		with := func(edit func(string) string) func(any) (any, error) {
			return func(ref any) (any, error) {
				if s, is := ref.(resource.Secret); is {
					return edit(texts[s]), nil
				}
				return ref, nil
			}
		}
		var v any
		v, err = resource.WalkParts(written, with(edit), with(CutLineEnd))
		return v
	}
	if !a.OneLine {
		value = fill(func(text string) string { return text })
		if err != nil {
			return nil, false, err
		}
		if a.DataType.Check(value) == nil {
			return value, true, nil
		}
	}
	if value = fill(CutLineEnd); err != nil {
		return nil, false, err
	}
	if a.DataType.Check(value) == nil {
		return value, true, nil
	}
	if s, whole := written.(resource.Secret); whole {
		if read, err := a.DataType.Coerce(CutLineEnd(texts[s])); err == nil {
			return read, true, nil
		}
	}
	return value, false, nil
}
