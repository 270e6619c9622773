package syntax

import "strings"

// Mention is a name inside a text: a variable, or an attribute that follows it.
type Mention struct {
	Name     string
	From, To int // byte offsets in the token
	First    bool
}

// Mentions returns the names in a text that has these parts, in order.
func Mentions(t *Token, parts []Part) []Mention {
	if t.Kind == FString {
		return interpolated(t.Text)
	}
	return formatted(t.Text, parts)
}

// At returns the position of a byte of a token.
func (t *Token) At(offset int) Pos { return t.Pos.behind(t.Text[:offset], t.Text[offset:]) }

// pieces splits a path such as a.b, which starts at this offset of the token.
func pieces(out []Mention, path string, at int) []Mention {
	for i := 0; ; i++ {
		name, rest, more := strings.Cut(path, ".")
		text := strings.TrimSpace(name)
		if from := at + strings.Index(name, text); text != "" {
			out = append(out, Mention{text, from, from + len(text), i == 0})
		}
		if !more {
			return out
		}
		at, path = at+len(name)+1, rest
	}
}

// formatted returns the names in {{ a.b }} of a text.
func formatted(text string, parts []Part) []Mention {
	var out []Mention
	at := 0
	for _, p := range parts {
		if len(p.Path) == 0 {
			continue
		}
		path := strings.Join(p.Path, ".")
		for {
			i := strings.Index(text[at:], "{{")
			if i < 0 {
				return out
			}
			at += i + 1 // in {{{, the last two may start the value
			in, _, ended := strings.Cut(text[at+1:], "}}")
			if ended && strings.TrimSpace(in) == path {
				out = pieces(out, in, at+1)
				at += len(in)
				break
			}
		}
	}
	return out
}

// interpolated returns the names in {a.b} of an f-string.
func interpolated(text string) []Mention {
	var out []Mention
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '}' && depth > 0:
			depth--
		case text[i] != '{':
		case depth == 0 && strings.HasPrefix(text[i:], "{{"):
			i++
		default:
			depth++
			n := strings.IndexAny(text[i+1:], "!:{}")
			if n < 0 {
				return out
			}
			out = pieces(out, text[i+1:i+1+n], i+1)
			i += n
		}
	}
	return out
}
