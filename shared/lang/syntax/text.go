package syntax

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/pattern"
)

// The codes of duplicates.
const (
	CodeDuplicateKey      = "duplicate_key"
	CodeDuplicateArgument = "duplicate_argument"
)

// inner returns the content between the quotes of a text.
func inner(t *Token) string {
	from, n := 0, 1
	switch t.Kind {
	case Raw, FString:
		from = 1
	case Block:
		n = 3
	}
	return t.Text[from+n : len(t.Text)-n]
}

// decoded returns the value of a text. Escapes have their meaning in Python; other characters,
// including non-ASCII ones, stay unchanged. Every line break becomes \n.
func (p *parser) decoded(at int32) string {
	t := &p.tokens[at]
	in := strings.ReplaceAll(strings.ReplaceAll(inner(t), "\r\n", "\n"), "\r", "\n")
	if t.Kind == Raw || !strings.Contains(in, `\`) {
		return in
	}
	var b strings.Builder
	bad := ""
	for in != "" {
		i := strings.IndexByte(in, '\\')
		if i < 0 {
			i = len(in)
		}
		b.WriteString(in[:i])
		if in = in[i:]; in == "" {
			break
		}
		text, n, problem := escape(in)
		bad = cmp.Or(bad, problem)
		b.WriteString(text)
		in = in[n:]
	}
	switch {
	case bad == "":
	case strings.HasPrefix(bad, `\x`), strings.HasPrefix(bad, `\u`), strings.HasPrefix(bad, `\U`),
		strings.HasPrefix(bad, `\N`):
		p.report(CodeEscape, t,
			`write r before the quote for a text without escapes, or \\ for a backslash`,
			"%s is not a whole escape", bad)
	default:
		p.warn(CodeEscape, t, `write \\ for a backslash`,
			"%s is not an escape; the backslash stays", bad)
	}
	return b.String()
}

// escapes are the escapes of one letter. A backslash at the end of a line continues the line.
var escapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r",
	't': "\t", 'v': "\v",
}

// escape returns the value and the length of the escape at the start of a text. If the escape is
// invalid, bad is the escape.
func escape(text string) (value string, n int, bad string) {
	if len(text) < 2 {
		return text, len(text), text
	}
	c := text[1]
	if v, ok := escapes[c]; ok {
		return v, 2, ""
	}
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; digits > 0 {
		if len(text) >= 2+digits {
			if code, err := strconv.ParseUint(text[2:2+digits], 16, 32); err == nil &&
				code <= utf8.MaxRune {
				return string(rune(code)), 2 + digits, ""
			}
		}
		return text[:2], 2, text[:2]
	}
	if c >= '0' && c <= '7' {
		n := 2
		for n < 4 && n < len(text) && text[n] >= '0' && text[n] <= '7' {
			n++
		}
		code, _ := strconv.ParseUint(text[1:n], 8, 32) // at most three octal digits
		return string(rune(code)), n, ""               // at most 511
	}
	_, size := utf8.DecodeRuneInString(text[1:])
	return text[:1+size], 1 + size, text[:1+size]
}

// putIn matches an interpolated value in a text: {{ a.b }}.
var putIn = pattern.Lazy(`\{\{\s*([.A-Za-z0-9_-]+)\s*\}\}`)

func hasValues(text string) bool {
	return strings.Contains(text, "{{") && putIn().MatchString(text)
}

// format parses a text that may have interpolated values.
func (p *parser) format(at int32) Expression {
	span, value := Span{at, at}, p.decoded(at)
	if !strings.Contains(value, "{{") {
		return &Text{span, value}
	}
	var parts []Part
	end := 0
	for _, m := range putIn().FindAllStringSubmatchIndex(value, -1) {
		path := strings.Split(value[m[2]:m[3]], ".")
		if !p.reference(at, path) {
			continue
		}
		parts = append(parts, Part{Text: value[end:m[0]]}, Part{Path: path})
		end = m[1]
	}
	if parts == nil {
		return &Text{span, value}
	}
	return &Format{span, append(parts, Part{Text: value[end:]})}
}

// reference reports whether a path consists of a variable and attributes. It reports a problem
// otherwise.
func (p *parser) reference(at int32, path []string) bool {
	example := "{{ host.name }}"
	if p.tokens[at].Kind == FString {
		example = "{host.name}"
	}
	for _, name := range path {
		if _, n := wordLength(name + " "); n != len(name) || n == 0 || strings.Contains(name, "-") {
			p.report(CodeFormat, &p.tokens[at],
				"write a variable and its attributes, such as "+example,
				"%q does not name a value", strings.Join(path, "."))
			return false
		}
	}
	return true
}

// ftext parses an f-string.
func (p *parser) ftext(at int32) Expression {
	r := &formatReader{p: p, at: at, rest: p.decoded(at)}
	return &FText{Span{at, at}, r.parts(0)}
}

// formatReader parses Python format strings.
type formatReader struct {
	p    *parser
	at   int32
	rest string
}

func (r *formatReader) wrong(hint, format string, args ...any) []Part {
	r.p.report(CodeFormat, &r.p.tokens[r.at], hint, format, args...)
	return nil
}

// parts parses up to the end of the text. In a format specification (depth 1), it stops at the
// brace that ends the value.
func (r *formatReader) parts(depth int) []Part {
	var out []Part
	text := ""
	for r.rest != "" {
		i := strings.IndexAny(r.rest, "{}")
		if i < 0 {
			i = len(r.rest)
		}
		text, r.rest = text+r.rest[:i], r.rest[i:]
		switch {
		case r.rest == "":
		case depth == 0 && (strings.HasPrefix(r.rest, "{{") || strings.HasPrefix(r.rest, "}}")):
			text, r.rest = text+r.rest[:1], r.rest[2:]
		case r.rest[0] == '}' && depth > 0:
			return append(out, Part{Text: text})
		case r.rest[0] == '}':
			return r.wrong("write }} for a brace", "a } has no { before it")
		case depth > 1:
			return r.wrong("", "values are nested too deeply")
		default:
			r.rest = r.rest[1:]
			v, ok := r.value(depth)
			if !ok {
				return nil
			}
			out = append(out, Part{Text: text}, v)
			text = ""
		}
	}
	return append(out, Part{Text: text})
}

// value parses the rest of a value after its {, including the closing }.
func (r *formatReader) value(depth int) (Part, bool) {
	const hint = "write {{ for a brace, and } behind a value"
	i := strings.IndexAny(r.rest, "!:{}")
	if i < 0 {
		r.wrong(hint, "a { has no } behind it")
		return Part{}, false
	}
	v := Part{Path: strings.Split(r.rest[:i], ".")}
	for j := range v.Path {
		v.Path[j] = strings.TrimSpace(v.Path[j])
	}
	if !r.p.reference(r.at, v.Path) {
		return Part{}, false
	}
	r.rest = r.rest[i:]
	if strings.HasPrefix(r.rest, "!") {
		if len(r.rest) < 3 || !strings.Contains("rsa", r.rest[1:2]) {
			r.wrong("write !r, !s or !a", "behind ! there is no conversion")
			return Part{}, false
		}
		v.Conversion, r.rest = r.rest[1], r.rest[2:]
	}
	if strings.HasPrefix(r.rest, ":") {
		r.rest = r.rest[1:]
		if v.Spec = r.parts(depth + 1); v.Spec == nil {
			return Part{}, false
		}
	}
	if !strings.HasPrefix(r.rest, "}") {
		r.wrong(hint, "a { has no } behind it")
		return Part{}, false
	}
	r.rest = r.rest[1:]
	return v, true
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Compare(a.Pos.Offset, b.Pos.Offset)
	})
}
