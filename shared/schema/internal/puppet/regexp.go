package puppet

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/pattern"
)

// Regexp is a Go regular expression with the meaning of a Ruby one. A program has hundreds of them
// for its types, and most runs use only a few. So each is parsed when it is created, which
// validates it, and compiled when it is first used.
type Regexp struct {
	text   string
	names  []string
	re     func() *regexp.Regexp
	strict func() *regexp.Regexp // matches ^ only at the start of the text; nil without a ^
}

// String returns the Go regular expression.
func (r *Regexp) String() string { return r.text }

// SubexpNames returns the names of the groups. The name is "" for the whole match and for unnamed
// groups.
func (r *Regexp) SubexpNames() []string { return r.names }

// FindStringSubmatchIndex returns the positions of the leftmost match in s and of its groups. It
// returns nil if there is no match.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.re().FindStringSubmatchIndex(s)
}

// MatchString reports whether s contains a match. In Ruby, no line begins after the last line break
// of a text.
func (r *Regexp) MatchString(s string) bool {
	if r.strict == nil || !strings.HasSuffix(s, "\n") {
		return r.re().MatchString(s)
	}
	at := r.re().FindStringIndex(s)
	return at != nil && (at[0] < len(s) || r.strict().MatchString(s))
}

// Compile translates a Ruby regular expression into a Go one. ^ and $ match at lines, \Z matches
// before a last line break, and \h is a hex digit. (?m) makes the dot match line breaks, and (?x)
// allows white space and comments.
//
// Compile rejects and names constructs that cannot run in time linear in the text: lookaround, back
// references, atomic and possessive groups.
//
// Some differences remain. \b knows only ASCII, (?i) folds single characters, and \R may match only
// half of a \r\n. A ^ in the middle of an expression also matches after the last line break of a
// text.
func Compile(source string) (*Regexp, error) {
	t := &translator{s: source}
	text, err := t.translate("^")
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	out := &Regexp{text: text, names: parsed.CapNames(), re: pattern.Lazy(text)}
	if t.lineStart {
		t = &translator{s: source}
		text, _ = t.translate(`\A`)
		out.strict = pattern.Lazy(text)
	}
	return out, nil
}

// translator translates a Ruby regular expression into a Go one.
//
// Large: a recursive-descent parser has a method for each form of a regular expression, and the
// methods share the position in the text.
type translator struct {
	s         string
	i         int
	out       []byte
	err       error
	lineStart bool // the expression contains a ^
	inClass   bool // between brackets
	extended  bool // white space and comments are ignored
	extra     int  // groups opened by options, to be closed at the end of the enclosing group
	groups    []openGroup
	atom      int  // the start in out of the element that a repetition applies to; -1: none
	repeated  bool // the element is already a repetition
}

// openGroup is a group that is not closed yet, with the state of the enclosing group.
type openGroup struct {
	start, extra    int
	extended, named bool
}

func (t *translator) translate(lineStart string) (string, error) {
	t.out, t.atom = append(t.out, "(?m)"...), -1
	for t.i < len(t.s) && t.err == nil {
		t.next(lineStart)
	}
	if len(t.groups) > 0 {
		t.refuse("a group has no end")
	}
	t.write(strings.Repeat(")", t.extra))
	return string(t.out), t.err
}

func (t *translator) refuse(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

func (t *translator) write(s string) { t.out = append(t.out, s...) }

// begin marks the start of an element that can be repeated.
func (t *translator) begin() { t.atom, t.repeated = len(t.out), false }

// next translates one element.
func (t *translator) next(lineStart string) {
	c := t.s[t.i]
	switch {
	case c == '(':
		t.group()
	case c == ')':
		t.close()
	case c == '{':
		t.counted()
	case c == '*', c == '+', c == '?':
		t.i++
		t.repeat(string(c), true)
	case c == '|':
		t.write("|")
		t.i++
		t.atom = -1
	case t.extended && strings.IndexByte(" \t\r\n\f\v", c) >= 0:
		t.i++
	case t.extended && c == '#':
		comment, _, _ := strings.Cut(t.rest(0), "\n")
		t.i += len(comment)
	case c == '\\':
		t.begin()
		t.escape()
	case c == '[':
		t.begin()
		t.class()
	case c == '^':
		t.begin()
		t.lineStart = true
		t.write(lineStart)
		t.i++
	default:
		t.begin()
		_, n := utf8.DecodeRuneInString(t.rest(0))
		t.write(t.s[t.i : t.i+n])
		t.i += n
	}
}

// rest returns the text starting n bytes after the current position.
func (t *translator) rest(n int) string { return t.s[min(t.i+n, len(t.s)):] }

// notRuby returns the reason why a \ and the letters after it are rejected.
func notRuby(rest string) string {
	c := rest[0]
	switch {
	case len(rest) >= 3 && c >= '1' && c <= '3' && isOctal(rest[1]) && isOctal(rest[2]):
		return "" // an octal character
	case c >= '1' && c <= '9', c == 'k':
		return "a back reference, which cannot be run fast on every text"
	case c == 'g':
		return "a call of a group, which cannot be run fast on every text"
	case c == 'G', c == 'K', c == 'X':
		return `\` + string(c) + ", which cannot be run"
	case c == 'c', c == 'C', c == 'M':
		return "a control character as \\" + string(c) + "; write it as \\x and two hex digits"
	}
	return ""
}

// escapeOf returns the Go form of Ruby's \c. It returns false if both are written alike.
func escapeOf(c byte) (string, bool) {
	s, ok := map[byte]string{
		'h': `[0-9a-fA-F]`, 'H': `[^0-9a-fA-F]`, 's': `[\s\v]`, 'S': `[^\s\v]`, 'e': `\x1b`,
		'R': `(?:\r\n|[\n\v\f\r\x{85}\x{2028}\x{2029}])`, '/': `/`,
	}[c]
	return s, ok
}

func (t *translator) escape() {
	rest := t.rest(1)
	if rest == "" {
		t.refuse(`a \ at the end`)
		return
	}
	c := rest[0]
	if reason := notRuby(rest); reason != "" {
		t.refuse("it has %s", reason)
		return
	}
	if text, ok := escapeOf(c); ok {
		t.write(text)
		t.i += 2
		return
	}
	if c == 'Z' {
		if next := t.rest(2); next != "" && next[0] != ')' && next[0] != '|' {
			t.refuse(`\Z stands before something else`)
		}
		if slices.ContainsFunc(t.groups, func(g openGroup) bool { return g.named }) {
			t.refuse(
				`\Z stands in a group with a name, which would take the line break, too; write it behind the group`)
		}
		t.write(`(?:\n?\z)`)
		t.i += 2
		return
	}
	t.common(rest)
}

// common translates the escapes with the same meaning inside and outside brackets.
func (t *translator) common(rest string) {
	c := rest[0]
	switch {
	case c == 'u':
		t.unicode(rest)
	case c == 'p' || c == 'P':
		t.property(rest)
	case c == 'x':
		t.number(rest[1:], 2, 16)
	case c >= '0' && c <= '3':
		t.number(rest, 3, 8)
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRuneInString(rest)
		t.write(string(r))
		t.i += 1 + n
	case isWord(c) && c != '_' && strings.IndexByte("AzbBdDwWnrtfva", c) < 0:
		t.write(string(c)) // a letter without a special meaning
		t.i += 2
	default:
		t.write(t.s[t.i : t.i+2])
		t.i += 2
	}
}

// number translates the digits of a character after \ or \x, at most limit digits.
func (t *translator) number(rest string, limit, base int) {
	n := 0
	for n < min(limit, len(rest)) &&
		strings.IndexByte("0123456789abcdef"[:base], rest[n]|0x20) >= 0 && (isWord(rest[n])) {
		n++
	}
	r, err := strconv.ParseUint(rest[:n], base, 32)
	if err != nil {
		t.refuse(`\x without hex digits`)
		return
	}
	t.write(fmt.Sprintf(`\x{%x}`, r))
	if t.i += 1 + n; base == 16 {
		t.i++
	}
}

// isWord reports whether \w matches a byte.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func (t *translator) unicode(rest string) {
	digits, width := "", 5
	if inner, _, ok := strings.Cut(rest[1:], "}"); ok && strings.HasPrefix(inner, "{") {
		digits, width = inner[1:], len(inner)+2
	} else if len(rest) >= 5 {
		digits = rest[1:5]
	}
	if _, err := strconv.ParseUint(digits, 16, 32); err != nil {
		t.refuse(`\u without one character in hex digits`)
		return
	}
	t.write(`\x{` + digits + `}`)
	t.i += 1 + width
}
