package pyregexp

import "strings"

// The classes of Python as the contents of a bracket expression of RE2.
var classes = map[byte]string{
	'd': `\p{Nd}`,
	'w': `\p{L}\p{N}_`,
	's': `\t-\r\x1c-\x20\x{85}\p{Z}`,
}

// re2 returns an expression in RE2's syntax that matches the beginnings of the same texts, and false
// if it knows none. It translates only constructs that it lists.
func re2(text string) (string, bool) {
	p := parser{rest: text}
	for p.rest != "" {
		if !p.next() {
			return "", false
		}
	}
	return p.out.String(), true
}

type parser struct {
	rest string
	out  strings.Builder
}

func (p *parser) write(from int, as string) bool {
	p.rest = p.rest[from:]
	p.out.WriteString(as)
	return true
}

// next translates one construct. It returns false for one that it does not know.
func (p *parser) next() bool {
	switch c := p.rest[0]; c {
	case '\\':
		return p.escape()
	case '[':
		return p.class()
	case '(':
		return p.open()
	case '{':
		return p.repeat()
	case '$': // also matches before a last line end, which only the end of an expression can leave out
		if strings.Trim(p.rest[1:], ")") != "" {
			return false
		}
		return p.write(1, `(?:\n?\z)`)
	default:
		return p.write(1, p.rest[:1])
	}
}

// escape translates an escape outside of brackets.
func (p *parser) escape() bool {
	if len(p.rest) < 2 {
		return false
	}
	switch c := p.rest[1]; {
	case c == 'Z':
		return p.write(2, `\z`)
	case c == 'A' || strings.IndexByte("tnrfva", c) >= 0:
		return p.write(2, p.rest[:2])
	case strings.IndexByte("dws", c) >= 0:
		return p.write(2, "["+classes[c]+"]")
	case strings.IndexByte("DWS", c) >= 0:
		return p.write(2, "[^"+classes[c|' ']+"]")
	case isPunctuation(c):
		return p.write(2, p.rest[:2])
	}
	return false
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_')
}

// class translates a bracket expression.
func (p *parser) class() bool {
	i := 1
	var out strings.Builder
	out.WriteByte('[')
	if i < len(p.rest) && p.rest[i] == '^' {
		out.WriteByte('^')
		i++
	}
	for first := true; i < len(p.rest); first = false {
		switch c := p.rest[i]; {
		case c == ']' && !first:
			out.WriteByte(']')
			return p.write(i+1, out.String())
		case c == ']' || c == '[':
			out.WriteString(`\` + string(c))
			i++
		case c == '\\':
			as, ok := inClass(p.rest[i:])
			if !ok {
				return false
			}
			out.WriteString(as)
			i += 2
		default:
			out.WriteByte(c)
			i++
		}
	}
	return false
}

// inClass translates an escape inside of brackets.
func inClass(text string) (string, bool) {
	if len(text) < 2 {
		return "", false
	}
	switch c := text[1]; {
	case classes[c] != "" && !strings.HasPrefix(text[2:], "-"):
		return classes[c], true
	case strings.IndexByte("tnrfva", c) >= 0 || isPunctuation(c):
		return text[:2], true
	}
	return "", false
}

// open translates the beginning of a group.
func (p *parser) open() bool {
	switch {
	case strings.HasPrefix(p.rest, "(?:"), strings.HasPrefix(p.rest, "(?P<"):
		end := strings.IndexAny(p.rest, ":>")
		return end > 0 && p.write(end+1, p.rest[:end+1])
	case strings.HasPrefix(p.rest, "(?"):
		return false
	}
	return p.write(1, "(")
}

// repeat translates {n}, {n,}, {,m} and {n,m}. Braces with other contents are literal in Python.
func (p *parser) repeat() bool {
	end := strings.IndexByte(p.rest, '}')
	if end < 0 {
		return p.write(1, `\{`)
	}
	least, most, two := strings.Cut(p.rest[1:end], ",")
	switch {
	case !digits(least) || !digits(most) || !two && least == "":
		return p.write(1, `\{`)
	case least == "":
		least = "0"
	}
	if !two {
		return p.write(end+1, "{"+least+"}")
	}
	return p.write(end+1, "{"+least+","+most+"}")
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// dotNet returns an expression in the syntax of .NET, which the backtracking library has.
func dotNet(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, `\Z`):
			b.WriteString(`\z`)
			i++
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(rest[:2])
			i++
		case strings.HasPrefix(rest, "(?P<"):
			b.WriteString("(?<")
			i += len("(?P<") - 1
		case strings.HasPrefix(rest, "(?P=") && strings.Contains(rest, ")"):
			end := strings.IndexByte(rest, ')')
			b.WriteString(`\k<` + rest[len("(?P="):end] + ">")
			i += end
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
