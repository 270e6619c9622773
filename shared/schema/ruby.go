package schema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// compileRuby makes a Go regular expression that means what the Ruby one does: ^ and $ stand at lines, \Z before a last line break,
// \h is a hex digit, (?m) makes the dot match line breaks. What cannot be run in time that grows with the text (looking around, back
// references, atomic and possessive groups) is refused and named. Differences that stay: \b knows ASCII only, and ^ also
// matches behind the last line break of a text.
func compileRuby(source string) (*regexp.Regexp, error) {
	t := &translator{s: source}
	t.b.WriteString("(?m)")
	for t.i < len(t.s) && t.err == nil {
		t.next()
	}
	if t.err != nil {
		return nil, t.err
	}
	re, err := regexp.Compile(t.b.String())
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

type translator struct {
	s   string
	i   int
	b   strings.Builder
	err error
}

func (t *translator) refuse(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// next translates one piece.
func (t *translator) next() {
	switch c := t.s[t.i]; c {
	case '\\':
		t.escape()
	case '[':
		t.class()
	case '(':
		t.group()
	case '{':
		t.repeat()
	default:
		t.b.WriteByte(c)
		t.i++
	}
}

// rest returns what stands n bytes further on.
func (t *translator) rest(n int) string { return t.s[min(t.i+n, len(t.s)):] }

// notRuby says why letters behind \ are refused.
func notRuby(c byte) string {
	switch {
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

// escapes are those that Go writes differently.
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
	if reason := notRuby(c); reason != "" {
		t.refuse("it has %s", reason)
		return
	}
	if text, ok := escapeOf(c); ok {
		t.b.WriteString(text)
		t.i += 2
		return
	}
	if c == 'Z' {
		if next := t.rest(2); next != "" && next[0] != ')' && next[0] != '|' {
			t.refuse(`\Z stands before something else`)
		}
		t.b.WriteString(`(?:\n?\z)`)
		t.i += 2
		return
	}
	t.common(rest)
}

// common translates the escapes that mean the same inside and outside brackets.
func (t *translator) common(rest string) {
	c := rest[0]
	switch {
	case c == 'u':
		t.unicode(rest)
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRuneInString(rest)
		t.b.WriteRune(r)
		t.i += 1 + n
	case isWord(c) && c != '_' && strings.IndexByte("AzbBdDwWnrtfvapPx0", c) < 0:
		t.b.WriteByte(c) // a letter without a meaning is itself
		t.i += 2
	default:
		t.b.WriteString(t.s[t.i : t.i+2])
		t.i += 2
	}
}

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
	t.b.WriteString(`\x{` + digits + `}`)
	t.i += 1 + width
}

// group translates what starts with ( and is more than a bracket.
func (t *translator) group() {
	rest := t.rest(0)
	if !strings.HasPrefix(rest, "(?") {
		t.b.WriteByte('(')
		t.i++
		return
	}
	for prefix, what := range map[string]string{
		"(?=": "a look ahead", "(?!": "a look ahead", "(?<=": "a look behind", "(?<!": "a look behind",
		"(?>": "an atomic group", "(?~": "an absence operator", "(?(": "a condition", "(?P": "a group that Ruby does not know",
	} {
		if strings.HasPrefix(rest, prefix) {
			t.refuse("it has %s %s…), which cannot be run fast on every text", what, prefix)
			return
		}
	}
	switch {
	case strings.HasPrefix(rest, "(?#"):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			t.refuse("a comment has no end")
			return
		}
		t.i += end + 1
	case strings.HasPrefix(rest, "(?'"):
		name, _, ok := strings.Cut(rest[3:], "'")
		if !ok {
			t.refuse("the name of a group has no end")
			return
		}
		t.b.WriteString("(?<" + name + ">")
		t.i += len(name) + 4
	case strings.HasPrefix(rest, "(?<"):
		t.b.WriteString("(?<")
		t.i += 3
	default:
		t.options(rest)
	}
}

// options translates (?mix-mix) and (?mix-mix:
func (t *translator) options(rest string) {
	end := strings.IndexAny(rest, ":)")
	if end < 0 {
		t.refuse("a group has no end")
		return
	}
	flags := rest[2:end]
	if at := strings.IndexFunc(flags, func(r rune) bool { return !strings.ContainsRune("mi-", r) }); at >= 0 {
		t.refuse("it has the option %q, which cannot be run", flags[at:at+1])
		return
	}
	t.b.WriteString("(?" + strings.ReplaceAll(flags, "m", "s") + rest[end:end+1])
	t.i += end + 1
}

// repeat translates {,n}, and refuses {n}?, which is not lazy in Ruby.
func (t *translator) repeat() {
	rest := t.rest(0)
	end := strings.IndexByte(rest, '}')
	inside := rest[1:max(end, 1)]
	if end < 0 || inside == "" || strings.Trim(inside, "0123456789,") != "" || strings.Count(inside, ",") > 1 || inside == "," {
		t.b.WriteString(`\{`)
		t.i++
		return
	}
	if !strings.Contains(inside, ",") && strings.HasPrefix(rest[end+1:], "?") {
		t.refuse("{%s}? means (…{%s})? in Ruby; write that", inside, inside)
		return
	}
	if inside[0] == ',' {
		inside = "0" + inside
	}
	t.b.WriteString("{" + inside + "}")
	t.i += end + 1
}

// class translates [...].
func (t *translator) class() {
	t.b.WriteByte('[')
	t.i++
	if strings.HasPrefix(t.rest(0), "^") {
		t.b.WriteByte('^')
		t.i++
	}
	if strings.HasPrefix(t.rest(0), "]") {
		t.refuse("it has empty brackets")
	}
	for t.err == nil {
		rest := t.rest(0)
		switch {
		case rest == "":
			t.refuse("a [ has no ]")
		case rest[0] == ']':
			t.b.WriteByte(']')
			t.i++
			return
		case strings.HasPrefix(rest, "&&"):
			t.refuse("it has && in brackets, which cannot be run")
		case strings.HasPrefix(rest, "[:"):
			t.posix(rest)
		case rest[0] == '[':
			t.refuse("it has brackets in brackets; write \\[ for the character")
		case rest[0] == '\\':
			t.classEscape()
		default:
			t.b.WriteByte(rest[0])
			t.i++
		}
	}
}

func (t *translator) classEscape() {
	rest := t.rest(1)
	if rest == "" {
		t.refuse("a [ has no ]")
		return
	}
	text, ok := map[byte]string{'h': `0-9a-fA-F`, 's': `\s\v`, 'S': `\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{10FFFF}`, 'e': `\x1b`, 'b': `\x08`, '/': `/`}[rest[0]]
	switch c := rest[0]; {
	case ok:
		t.b.WriteString(text)
		t.i += 2
	case c == 'H', c == 'R', notRuby(c) != "":
		t.refuse(`it has \%c in brackets, which cannot be run`, c)
	case c == 'A', c == 'z', c == 'Z', c == 'B':
		t.b.WriteByte(c)
		t.i += 2
	default:
		t.common(rest)
	}
}

// posix translates [:alpha:] and its like, which know all of Unicode in Ruby.
func (t *translator) posix(rest string) {
	name, _, ok := strings.Cut(rest[2:], ":]")
	text := map[string]string{
		"alpha": `\p{L}\p{M}`, "digit": `\p{Nd}`, "alnum": `\p{L}\p{M}\p{Nd}`, "upper": `\p{Lu}`, "lower": `\p{Ll}`, "space": `\s\v\x{85}\p{Z}`,
		"blank": ` \t\p{Zs}`, "punct": `\p{P}$+<=>^` + "`" + `|~`, "cntrl": `\p{Cc}`, "xdigit": `0-9a-fA-F`, "word": `\p{L}\p{M}\p{Nd}\p{Pc}`,
		"print": `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}`, "graph": `\p{L}\p{M}\p{N}\p{P}\p{S}`,
		"^digit": `\P{Nd}`, "^upper": `\P{Lu}`, "^lower": `\P{Ll}`, "^cntrl": `\P{Cc}`,
	}[name]
	if !ok || text == "" {
		t.refuse("[:%s:] cannot be run", shorten(name, 20))
		return
	}
	t.b.WriteString(text)
	t.i += len(name) + 4
}
