package schema

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/fault"
)

// The limits of an expression. Expressions written by people are far below them.
const (
	maxExpression = 64 << 10
	maxNesting    = 50
	maxWeight     = 5000 // aliases of aliases grow exponentially
)

// node is an element of an expression before its meaning is resolved.
type node struct {
	kind   nodeKind
	at     int    // byte offset
	text   string // name, word, string without quotes, pattern without slashes, or the number
	num    *big.Int
	float  float64
	params []node // of a type; of a map: key, value, key, value, ...
	open   bool   // whether a type has brackets
}

type nodeKind int

const (
	nodeType nodeKind = iota
	nodeInt
	nodeFloat
	nodeDefault
	nodeBool
	nodeString
	nodeWord
	nodeRegexp
	nodeMap
)

// parser parses an expression into nodes. After the first error, i is at the end.
type parser struct {
	s   string
	i   int
	err error
}

// failAt records an error at a byte of the expression. The message states the line and the column.
func (p *parser) failAt(at int, hint, format string, args ...any) {
	if p.err == nil {
		e := fault.New(fault.Invalid, "read data type", "%s at %s of %q", sprintf(format, args),
			place(p.s, at), shorten(p.s, 80))
		if hint != "" {
			e = e.WithHint("%s", hint)
		}
		p.err = e
	}
	p.i = len(p.s)
}

func (p *parser) expected(what string) {
	if r, _ := utf8.DecodeRuneInString(p.s[p.i:]); r >= utf8.RuneSelf && p.i < len(p.s) {
		what += fmt.Sprintf(", got %+q", string(r)) // may look like another
	}
	p.failAt(p.i, "", "expected %s", what)
}

// place describes the position of byte at in s.
func place(s string, at int) string {
	line := strings.Count(s[:at], "\n") + 1
	column := utf8.RuneCountInString(s[strings.LastIndexByte(s[:at], '\n')+1:at]) + 1
	if strings.Contains(s, "\n") {
		return "line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column)
	}
	return "column " + strconv.Itoa(column)
}

// space skips white space and comments: # to the end of the line, and /* */.
func (p *parser) space() {
	for p.i < len(p.s) {
		switch rest := p.s[p.i:]; {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.i++
		case rest[0] == '#':
			comment, _, _ := strings.Cut(rest, "\n")
			p.i += len(comment)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				p.failAt(p.i, "", "the comment that starts here has no end,")
				return
			}
			p.i += end + 4
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.space(); p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *parser) accept(text string) bool {
	if p.space(); strings.HasPrefix(p.s[p.i:], text) {
		p.i += len(text)
		return true
	}
	return false
}

// while skips the bytes that f accepts and returns them.
func (p *parser) while(f func(c byte) bool) string {
	from := p.i
	for p.i < len(p.s) && f(p.s[p.i]) {
		p.i++
	}
	return p.s[from:p.i]
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool  { return isUpper(c) || isLower(c) || isDigit(c) }

// typ parses a type with its parameters.
func (p *parser) typ(depth int) node {
	c := p.peek()
	n := node{kind: nodeType, at: p.i}
	if !isUpper(c) {
		p.expected("the name of a type, which starts with a capital letter")
		return n
	}
	p.while(isWord)
	for p.i+2 < len(p.s) && p.s[p.i:p.i+2] == "::" && isUpper(p.s[p.i+2]) {
		p.i += 2
		p.while(isWord)
	}
	n.text = p.s[n.at:p.i]
	if n.open = p.accept("["); !n.open {
		return n
	}
	if p.peek() == ']' {
		p.expected("a parameter; without any, leave the brackets out")
	}
	n.params = p.list(']', func() node {
		first := p.param(depth + 1)
		if p.peek() != '=' {
			return first
		}
		// Pairs without braces form a map.
		m := node{kind: nodeMap, at: first.at}
		for {
			m.params = append(m.params, p.pair(first, depth)...)
			if !p.accept(",") || p.peek() == ']' {
				return m
			}
			first = p.param(depth + 1)
		}
	})
	return n
}

// pair parses the value after a key, and returns both.
func (p *parser) pair(key node, depth int) []node {
	if !p.accept("=>") {
		p.expected("=> and a type")
	}
	return []node{key, p.param(depth + 1)}
}

// list parses items up to the closing bracket, with an optional comma after the last item.
func (p *parser) list(end byte, item func() node) []node {
	var out []node
	for p.err == nil {
		if p.peek() == end {
			p.i++
			return out
		}
		out = append(out, item())
		if !p.accept(",") && p.peek() != end {
			p.expected(", or " + string(end))
		}
	}
	return nil
}

func (p *parser) param(depth int) node {
	if depth > maxNesting {
		p.failAt(p.i, "", "more than %d levels", maxNesting)
		return node{}
	}
	c := p.peek()
	n := node{at: p.i}
	switch {
	case isUpper(c):
		return p.typ(depth)
	case isLower(c):
		return p.word()
	case isDigit(c), c == '-':
		return p.number()
	case c == '\'':
		n.kind, n.text = nodeString, p.single()
	case c == '"':
		n.kind, n.text = nodeString, p.double()
	case c == '/':
		n.kind, n.text = nodeRegexp, p.regexp()
	case c == '{':
		p.i++
		n.kind = nodeMap
		p.list('}', func() node {
			n.params = append(n.params, p.pair(p.param(depth+1), depth)...)
			return node{}
		})
	default:
		p.expected("a type, a number, a word, a string, /a regular expression/ or {a map}")
	}
	return n
}

// word parses a bare word: it begins with a lower-case letter and may contain hyphens. Several
// words may be joined by ::.
func (p *parser) word() node {
	n := node{kind: nodeWord, at: p.i}
	for {
		p.while(func(c byte) bool { return isWord(c) || c == '-' })
		for p.s[p.i-1] == '-' {
			p.i--
		}
		if rest := p.s[p.i:]; len(rest) < 3 || rest[:2] != "::" || !isLower(rest[2]) {
			break
		}
		p.i += 2
	}
	switch n.text = p.s[n.at:p.i]; n.text {
	case "default":
		n.kind = nodeDefault
	case "true", "false":
		n.kind = nodeBool
	case "undef":
		p.failAt(n.at, "write 'undef' for the word, Optional[…] for no value",
			"undef is not a word,")
	}
	return n
}

// number parses an integer (decimal, 0x, octal with a leading zero) or a float, each with an
// optional minus.
func (p *parser) number() node {
	n := node{kind: nodeInt, at: p.i}
	sign := ""
	if p.s[p.i] == '-' {
		sign = "-"
		p.i++
		p.space()
	}
	from := p.i
	digits := p.while(func(c byte) bool { return isWord(c) || c == '.' })
	hex := strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X")
	if strings.ContainsAny(digits, "eE") && !hex && p.i < len(p.s) &&
		(p.s[p.i] == '-' || p.s[p.i] == '+') && strings.ContainsAny(digits[len(digits)-1:], "eE") {
		p.i++
		p.while(isDigit)
	}
	digits = p.s[from:p.i]
	n.text = sign + digits
	bad := func() { p.failAt(n.at, "", "%q is not a valid number", n.text) }
	if digits == "" || !isDigit(digits[0]) || strings.Contains(digits, "_") ||
		strings.ContainsAny(digits, "oObBpP") && !hex {
		bad()
		return n
	}
	if num, ok := new(big.Int).SetString(n.text, 0); ok {
		n.num = num
		return n
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || !strings.ContainsAny(digits, ".eE") || hex || len(digits) > 1 &&
		digits[0] == '0' && isDigit(digits[1]) || !floatForm(digits) {
		bad()
		return n
	}
	n.kind, n.float = nodeFloat, f
	return n
}

// floatForm reports whether a float has digits on both sides of its point.
func floatForm(digits string) bool {
	whole, fraction, point := strings.Cut(digits, ".")
	return whole != "" && (!point || fraction != "" && isDigit(fraction[0]))
}

// single parses a string in single quotes, in which \ only escapes itself and the quote.
func (p *parser) single() string {
	start := p.i
	var b strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == '\'':
			p.i++
			return p.valid(start, b.String())
		case c == '\\' && p.i+1 < len(p.s) && (p.s[p.i+1] == '\'' || p.s[p.i+1] == '\\'):
			p.i++
			b.WriteByte(p.s[p.i])
		default:
			b.WriteByte(c)
		}
	}
	p.failAt(start, "", "the string that starts here has no end,")
	return ""
}

// double parses a string in double quotes, with escapes. It rejects interpolation, since there are
// no variables.
func (p *parser) double() string {
	start := p.i
	var b strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == '"':
			p.i++
			return p.valid(start, b.String())
		case c == '$' && p.i+1 < len(p.s) &&
			(p.s[p.i+1] == '{' || isLower(p.s[p.i+1]) || isDigit(p.s[p.i+1]) || p.s[p.i+1] == ':'):
			p.failAt(p.i, "write it in single quotes", "a variable, which means nothing here,")
			return ""
		case c == '\\' && p.i+1 < len(p.s):
			p.i++
			p.escape(&b)
		default:
			b.WriteByte(c)
		}
	}
	p.failAt(start, "", "the string that starts here has no end,")
	return ""
}

// escape parses an escape sequence in double quotes and stops at its last byte.
func (p *parser) escape(b *strings.Builder) {
	switch c := p.s[p.i]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 's':
		b.WriteByte(' ')
	case 'u':
		rest := p.s[p.i+1:]
		digits, width := "", 0
		if inner, _, ok := strings.Cut(strings.TrimPrefix(rest, "{"), "}"); ok &&
			strings.HasPrefix(rest, "{") {
			digits, width = inner, len(inner)+2
		} else if len(rest) >= 4 {
			digits, width = rest[:4], 4
		}
		r, err := strconv.ParseUint(digits, 16, 31)
		if err != nil || !utf8.ValidRune(rune(r)) { // less than 2^31
			p.failAt(p.i-1, "", "expected \\uXXXX or \\u{X} with hex digits")
			return
		}
		b.WriteRune(rune(r)) // range checked above
		p.i += width
	case '"', '\'', '\\', '$':
		b.WriteByte(c)
	case '\n': // line continuation
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
}

func (p *parser) valid(at int, s string) string {
	if !utf8.ValidString(s) {
		p.failAt(at, "", "the string is not UTF-8")
	}
	return s
}

// regexp parses the text between slashes, including escapes.
func (p *parser) regexp() string {
	start := p.i
	for p.i++; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
		case '/':
			p.i++
			return p.valid(start, p.s[start+1:p.i-1])
		case '\\':
			p.i++
		}
	}
	p.failAt(start, "", "the regular expression that starts here has no end,")
	return ""
}

// quote quotes a string so that the parser reads it back.
func quote(s string) string {
	plain := true
	for _, r := range s {
		plain = plain && (r == ' ' || unicode.IsPrint(r))
	}
	var b strings.Builder
	if plain {
		b.WriteByte('\'')
		for i := range len(s) { // escape \ only where it would escape the next character
			if s[i] == '\'' || s[i] == '\\' && (i+1 == len(s) || s[i+1] == '\'' || s[i+1] == '\\') {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		}
		b.WriteByte('\'')
		return b.String()
	}
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + `}`)
		}
	}
	b.WriteByte('"')
	return b.String()
}
