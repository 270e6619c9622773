package types

import "slices"

// LaterText is a text with parts that become known during deployment. It is a Reference to a string.
// Only JoinText creates one.
type LaterText struct {
	// Parts are strings that are not empty, and references for which InText returns true.
	Parts []Value
}

// ReferenceName implements Reference.
func (t *LaterText) ReferenceName() string { return "southbound::text" }

// Of implements Reference.
func (t *LaterText) Of() Type { return String }

// InText implements the interface of the function InText.
func (t *LaterText) InText() bool { return true }

// InText reports whether a value is a reference that may be part of a LaterText.
func InText(v Value) bool {
	r, ok := v.(interface{ InText() bool })
	return ok && r.InText()
}

// JoinText returns the text of parts: a string if no part is a reference, otherwise a LaterText, or an
// Unknown with Parts if a part is an Unknown. Parts are strings, and references and unknown values for
// which InText returns true.
func JoinText(parts ...Value) Value {
	var out []Value
	var unknown *Unknown // the first
	for _, p := range parts {
		switch p := p.(type) {
		case *LaterText:
			out = append(out, p.Parts...)
		case *Unknown:
			if unknown == nil {
				unknown = p
			}
			if len(p.Parts) > 0 {
				out = append(out, p.Parts...)
			} else {
				out = append(out, p)
			}
		default:
			out = append(out, p)
		}
	}
	out = joinStrings(out)
	switch {
	case unknown != nil:
		return &Unknown{Why: unknown.Why, Parts: out}
	case len(out) == 0:
		return ""
	case len(out) == 1:
		if s, is := out[0].(string); is {
			return s
		}
	}
	return &LaterText{Parts: out}
}

// joinStrings joins strings that follow each other and drops empty ones.
func joinStrings(parts []Value) []Value {
	var out []Value
	for i := 0; i < len(parts); {
		text, n := "", 0
		for _, p := range parts[i:] {
			s, is := p.(string)
			if !is {
				break
			}
			text, n = text+s, n+1
		}
		if text != "" {
			out = append(out, text)
		}
		if i += n; i < len(parts) {
			out, i = append(out, parts[i]), i+1
		}
	}
	return slices.Clip(out)
}
