package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/lang/types"
)

type tokenKind int

const (
	tEnd tokenKind = iota
	tData
	tPrintBegin // {{
	tPrintEnd
	tTagBegin // {%
	tTagEnd
	tName
	tNumber
	tString
	tOperator
)

// token is a token of a template. text is set for data, names, operators and strings (decoded).
type token struct {
	kind  tokenKind
	text  string
	value types.Value // of a number
	line  int
}

func (t token) String() string {
	switch t.kind {
	case tEnd:
		return "the end of the template"
	case tPrintEnd:
		return `"}}"`
	case tTagEnd:
		return `"%}"`
	case tNumber:
		return types.Text(t.value)
	}
	return strconv.Quote(t.text)
}

// lexer splits a template into tokens.
type lexer struct {
	text   string
	pos    int
	line   int
	tokens []token
}

// lex returns the tokens of a template, with an end token last. Its error is a *lineError.
func lex(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, &lineError{1, "the template is not UTF-8"}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	text = strings.TrimSuffix(text, "\n") // the last newline is not part of the output
	l := &lexer{text: text, line: 1}
	for l.pos < len(l.text) {
		if err := l.data(); err != nil {
			return nil, err
		}
	}
	l.add(tEnd, "")
	return l.tokens, nil
}

func (l *lexer) add(kind tokenKind, text string) {
	l.tokens = append(l.tokens, token{kind: kind, text: text, line: l.line})
}

func (l *lexer) fail(format string, args ...any) error {
	return &lineError{l.line, fmt.Sprintf(format, args...)}
}

// advance skips n bytes, and counts lines.
func (l *lexer) advance(n int) {
	l.line += strings.Count(l.text[l.pos:l.pos+n], "\n")
	l.pos += n
}

func (l *lexer) skipSpace() {
	rest := l.text[l.pos:]
	l.advance(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
}

// data reads text up to the next mark, and the construct that starts with the mark.
func (l *lexer) data() error {
	rest := l.text[l.pos:]
	i := nextMark(rest)
	if i < 0 {
		l.add(tData, rest)
		l.advance(len(rest))
		return nil
	}
	text, strip := rest[:i], len(rest) > i+2 && rest[i+2] == '-'
	if strip {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	if text != "" {
		l.add(tData, text)
	}
	l.advance(i)
	switch rest[i+1] {
	case '#':
		return l.comment()
	case '{':
		return l.code(tPrintBegin, tPrintEnd, "}}")
	}
	if ok, err := l.raw(); ok || err != nil {
		return err
	}
	return l.code(tTagBegin, tTagEnd, "%}")
}

func nextMark(text string) int {
	for i := 0; i+1 < len(text); i++ {
		j := strings.IndexByte(text[i:], '{')
		if j < 0 || i+j+1 >= len(text) {
			return -1
		}
		i += j
		if c := text[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
	}
	return -1
}

func (l *lexer) comment() error {
	end := strings.Index(l.text[l.pos+2:], "#}")
	if end < 0 {
		return l.fail(`the comment is not closed; "#}" is missing`)
	}
	end += l.pos + 2
	strip := end > l.pos+2 && l.text[end-1] == '-'
	l.advance(end + 2 - l.pos)
	if strip {
		l.skipSpace()
	}
	return nil
}

// modified skips the - or + of a mark.
func modified(text string) string {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		return text[1:]
	}
	return text
}

// tagNamed returns the text after a tag that consists of a name, if the text starts with such a
// tag. It also returns whether the tag strips the following white space.
func tagNamed(text, name string) (rest string, strip, ok bool) {
	inner := strings.TrimLeftFunc(modified(text[2:]), unicode.IsSpace)
	if !strings.HasPrefix(inner, name) {
		return "", false, false
	}
	inner = strings.TrimLeftFunc(inner[len(name):], unicode.IsSpace)
	switch {
	case strings.HasPrefix(inner, "-%}"):
		return inner[3:], true, true
	case strings.HasPrefix(inner, "%}"):
		return inner[2:], false, true
	case name == "endraw" && strings.HasPrefix(inner, "+%}"):
		return inner[3:], false, true
	}
	return "", false, false
}

// raw reads a raw block at the current position, if there is one. Its text is data.
func (l *lexer) raw() (bool, error) {
	rest, strip, ok := tagNamed(l.text[l.pos:], "raw")
	if !ok {
		return false, nil
	}
	l.advance(len(l.text) - l.pos - len(rest))
	if strip {
		l.skipSpace()
		rest = l.text[l.pos:]
	}
	for from := 0; ; {
		i := strings.Index(rest[from:], "{%")
		if i < 0 {
			return true, l.fail("the raw block is not closed; {%% endraw %%} is missing")
		}
		i += from
		after, strip, ok := tagNamed(rest[i:], "endraw")
		if !ok {
			from = i + 2
			continue
		}
		text := rest[:i]
		if len(rest) > i+2 && rest[i+2] == '-' {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		if text != "" {
			l.add(tData, text)
		}
		l.advance(len(rest) - len(after))
		if strip {
			l.skipSpace()
		}
		return true, nil
	}
}

// code reads the tokens between two marks.
func (l *lexer) code(begin, end tokenKind, mark string) error {
	l.add(begin, "")
	l.advance(2)
	if l.pos < len(l.text) && (l.text[l.pos] == '-' || l.text[l.pos] == '+' && begin == tTagBegin) {
		l.advance(1)
	}
	var open []byte
	for {
		l.skipSpace()
		rest := l.text[l.pos:]
		if rest == "" {
			return nil // the parser reports the missing end
		}
		if len(open) == 0 {
			bare := strings.TrimPrefix(rest, "-")
			if end == tTagEnd && strings.HasPrefix(rest, "+") {
				bare = rest[1:]
			}
			if strings.HasPrefix(bare, mark) {
				l.add(end, "")
				l.advance(len(rest) - len(bare) + 2)
				if rest[0] == '-' {
					l.skipSpace()
				}
				return nil
			}
		}
		if err := l.word(&open); err != nil {
			return err
		}
	}
}

var operators = []string{
	"//",
	"**",
	"==",
	"!=",
	">=",
	"<=",
	"+",
	"-",
	"/",
	"*",
	"%",
	"~",
	"[",
	"]",
	"(",
	")",
	"{",
	"}",
	">",
	"<",
	"=",
	".",
	":",
	"|",
	",",
	";",
}

var closing = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// word reads one token of code.
func (l *lexer) word(open *[]byte) error {
	rest := l.text[l.pos:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r >= '0' && r <= '9':
		return l.number()
	case r == '_' || unicode.IsLetter(r):
		n := strings.IndexFunc(rest, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		})
		if n < 0 {
			n = len(rest)
		}
		l.add(tName, rest[:n])
		l.advance(n)
		return nil
	case r == '\'' || r == '"':
		return l.quoted()
	}
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		if err := l.balance(op, open); err != nil {
			return err
		}
		l.add(tOperator, op)
		l.advance(len(op))
		return nil
	}
	return l.fail("unexpected character %q", rest[:size])
}

// balance tracks open brackets.
func (l *lexer) balance(op string, open *[]byte) error {
	if c, ok := closing[op[0]]; ok {
		*open = append(*open, c)
		return nil
	}
	if op != ")" && op != "]" && op != "}" {
		return nil
	}
	n := len(*open)
	if n == 0 {
		return l.fail("unexpected %q", op)
	}
	if want := (*open)[n-1]; want != op[0] {
		return l.fail("unexpected %q, expected %q", op, string(want))
	}
	*open = (*open)[:n-1]
	return nil
}

func digitsOf(text, set string) int {
	i := 0
	for i < len(text) {
		switch {
		case strings.IndexByte(set, text[i]) >= 0:
			i++
		case text[i] == '_' && i+1 < len(text) && strings.IndexByte(set, text[i+1]) >= 0 && i > 0:
			i++
		default:
			return i
		}
	}
	return i
}

const decimals = "0123456789"

// number reads an int or a float. After a dot it reads an index: x.0.1 has two.
func (l *lexer) number() error {
	rest := l.text[l.pos:]
	if n := l.floatLen(rest); n > 0 {
		f, err := strconv.ParseFloat(strings.ReplaceAll(rest[:n], "_", ""), 64)
		if err != nil && f == 0 {
			return l.fail("%s is not a number", rest[:n])
		}
		l.tokens = append(l.tokens, token{kind: tNumber, value: f, line: l.line})
		l.advance(n)
		return nil
	}
	n, base := 0, 10
	if len(rest) > 2 && rest[0] == '0' {
		switch rest[1] {
		case 'x', 'X':
			n, base = digitsOf(rest[2:], "0123456789abcdefABCDEF"), 16
		case 'o', 'O':
			n, base = digitsOf(rest[2:], "01234567"), 8
		case 'b', 'B':
			n, base = digitsOf(rest[2:], "01"), 2
		}
	}
	digits := ""
	if n > 0 {
		digits, n = rest[2:2+n], n+2
	} else {
		base = 10
		if n = digitsOf(rest, decimals); rest[0] == '0' {
			n = digitsOf(rest, "0")
		}
		digits = rest[:n]
	}
	if n > 10_000 {
		return l.fail("a number of %d digits is too long", n)
	}
	i, _ := new(big.Int).SetString(strings.ReplaceAll(digits, "_", ""), base)
	l.tokens = append(l.tokens, token{kind: tNumber, value: types.Integer(i), line: l.line})
	l.advance(n)
	return nil
}

// floatLen returns the length of the float at the start of a text; 0 if there is none.
func (l *lexer) floatLen(text string) int {
	if l.pos > 0 && l.text[l.pos-1] == '.' {
		return 0
	}
	n := digitsOf(text, decimals)
	fraction := 0
	if n < len(text) && text[n] == '.' {
		if f := digitsOf(text[n+1:], decimals); f > 0 {
			fraction = 1 + f
		}
	}
	rest := text[n+fraction:]
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		sign := 1
		if len(rest) > 1 && (rest[1] == '+' || rest[1] == '-') {
			sign = 2
		}
		if e := digitsOf(rest[sign:], decimals); e > 0 {
			return n + fraction + sign + e
		}
	}
	if fraction == 0 {
		return 0
	}
	return n + fraction
}

func (l *lexer) quoted() error {
	rest := l.text[l.pos:]
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			text, err := unescape(rest[1:i])
			if err != nil {
				return l.fail("%s", err)
			}
			l.add(tString, text)
			l.advance(i + 1)
			return nil
		}
	}
	return l.fail("unexpected character %q; the string is not closed", rest[:1])
}
