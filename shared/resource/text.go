package resource

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"southbound/shared/fault"
)

// MaxText is the maximum length, in bytes, of a text that consists of parts.
const MaxText = 1 << 20

// Text is a text of parts. It is put together when all its references have values. Only NewText
// creates one.
type Text struct {
	// Parts are texts that are not empty and do not follow each other, and at least one Secret,
	// Parameter or Fact.
	Parts []any
}

// TextError is the reason why parts make no text. Its kind is fault.Invalid.
type TextError struct{ Err error }

// Error returns the reason.
func (e *TextError) Error() string { return e.Err.Error() }

// Unwrap returns the reason as an error of package fault.
func (e *TextError) Unwrap() error { return e.Err }

// NewText returns the text of parts: a string if no part is a reference, otherwise a Text. A part
// is a string, a number, a boolean, a Secret, a Parameter, a Fact or a Text. Numbers and booleans
// have their JSON form. NewText returns a TextError for any other part, and for literals of more
// than MaxText bytes in all.
func NewText(parts ...any) (any, error) {
	j := joiner{}
	for i, p := range parts {
		if err := j.add(p); err != nil {
			return nil, &TextError{
				fault.Wrap(fault.Invalid, "part "+strconv.Itoa(i+1)+" of the text", err)}
		}
	}
	if j.size > MaxText {
		return nil, &TextError{fault.New(fault.Invalid, "", "the text has %d bytes, and a text of "+
			"parts has at most %d", j.size, MaxText).WithHint(
			"upload it as a file: {file: PATH}, or {file: PATH, with: {NAME: …}} with its parts")}
	}
	if len(j.parts) == 0 {
		return j.literal.String(), nil
	}
	j.flush()
	return Text{Parts: j.parts}, nil
}

// joiner collects the parts of a text.
type joiner struct {
	parts   []any
	literal strings.Builder // the literals since the last reference
	size    int             // bytes of all literals
}

func (j *joiner) add(part any) error {
	text := ""
	switch p := part.(type) {
	case string:
		text = p
	case bool:
		text = strconv.FormatBool(p)
	case int64, float64, *big.Int:
		b, err := CanonicalValue(p)
		if err != nil {
			return err
		}
		text = string(b)
	case Secret, Parameter, Fact:
		j.flush()
		j.parts = append(j.parts, p)
		return nil
	case Text:
		for _, inner := range p.Parts {
			if err := j.add(inner); err != nil {
				return err
			}
		}
		return nil
	default:
		return fault.New(fault.Invalid, "", "%s cannot stand inside a text", KindOf(part)).
			WithHint("use texts, numbers, booleans, secrets, parameters and facts")
	}
	if j.size += len(text); j.size <= MaxText {
		j.literal.WriteString(text)
	}
	return nil
}

// flush makes the literals since the last reference a part.
func (j *joiner) flush() {
	if j.literal.Len() > 0 {
		j.parts = append(j.parts, j.literal.String())
		j.literal.Reset()
	}
}

// FitsText reports whether a value can be a part of a text; see NewText.
func FitsText(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64, *big.Int, Secret, Parameter, Fact, Text:
		return true
	}
	return false
}

// KindOf names the kind of a value for messages, such as "a list".
func KindOf(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case bool:
		return "a boolean"
	case int64, float64, *big.Int:
		return "a number"
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case File:
		return "an uploaded file"
	}
	return fmt.Sprintf("a %T", v)
}

// SecretLines returns the lines of the text that contain a part of a secret, with the values of
// secrets. It omits texts of lines that consist of other parts.
func (t Text) SecretLines(value func(Secret) string) []string {
	var whole strings.Builder
	var spans [][2]int // of secrets
	for _, p := range t.Parts {
		switch p := p.(type) {
		case string:
			whole.WriteString(p)
		case Secret:
			from := whole.Len()
			whole.WriteString(value(p))
			spans = append(spans, [2]int{from, whole.Len()})
		}
	}
	var out []string
	at := 0
	for line := range strings.Lines(whole.String()) {
		end := at + len(line)
		for _, s := range spans {
			if s[0] < end && s[1] > at {
				out = append(out, strings.TrimRight(line, "\r\n"))
				break
			}
		}
		at = end
	}
	return out
}

// Texts returns every text of parts inside v, in the order of list items and of map keys.
func Texts(v any) []Text {
	var out []Text
	visit(v, func(leaf any) {
		if t, is := leaf.(Text); is {
			out = append(out, t)
		}
	})
	return out
}

// HasSecret reports whether a value refers to a secret at any depth.
func HasSecret(v any) bool {
	for _, ref := range References(v) {
		if _, is := ref.(Secret); is {
			return true
		}
	}
	return false
}

// Form returns a reference in the form that documents have: a map. It returns files, and values
// that are no references, unchanged.
func Form(v any) any {
	switch v := v.(type) {
	case Secret:
		out := map[string]any{"secret": v.Source}
		if v.Version != "" {
			out["version"] = v.Version
		}
		return out
	case Parameter:
		return map[string]any{"parameter": v.Name}
	case Fact:
		return map[string]any{"fact": v.Name, "of": string(v.Of)}
	case Text:
		parts := make([]any, len(v.Parts))
		for i, p := range v.Parts {
			parts[i] = Form(p)
		}
		return map[string]any{"text": parts}
	}
	return v
}
