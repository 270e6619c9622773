package schema

import (
	"strings"

	"southbound/shared/resource"
)

// CutLineEnd returns a text without one line end at its end.
func CutLineEnd(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// WithSecrets returns a value with the texts of the secrets in it, in the way the attribute takes
// them: bytes as they are, or without one line end if the attribute is OneLine or its type takes no
// other text. A secret that is the whole value may also stand for a number, true or false, or be JSON.
// ok is false if nothing of that is of the type. text is called once for each secret.
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
		v, _ := resource.Walk(written, func(ref any) (any, error) {
			if s, is := ref.(resource.Secret); is {
				return edit(texts[s]), nil
			}
			return ref, nil
		})
		return v
	}
	if !a.OneLine {
		value = fill(func(text string) string { return text })
		if a.DataType.Check(value) == nil {
			return value, true, nil
		}
	}
	value = fill(CutLineEnd)
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
