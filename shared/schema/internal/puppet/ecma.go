package puppet

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// The limits of a pattern in a schema: its length, and the number of range bounds in a class. A
// class with more bounds is extended to all non-ASCII characters.
const (
	maxPattern = 4000
	maxRanges  = 80
)

// ECMA writes a regular expression for ECMAScript with the flag u, and for Go without flags. The
// result matches the same texts or more: line anchors in the middle of an expression are omitted,
// and long Unicode classes are extended to all non-ASCII characters. ECMA returns false if the
// result is too long.
func (r *Regexp) ECMA() (string, bool) {
	parsed, err := syntax.Parse(r.String(), syntax.Perl)
	if err != nil {
		return "", false
	}
	w := &ecmaWriter{}
	w.expr(parsed, true, true)
	return w.b.String(), w.b.Len() <= maxPattern
}

type ecmaWriter struct{ b strings.Builder }

// expr writes one expression. If first or last is set, nothing can be matched before or after it.
func (w *ecmaWriter) expr(re *syntax.Regexp, first, last bool) {
	if w.b.Len() > maxPattern {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			w.literal(r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		w.class(re.Rune)
	case syntax.OpAnyChar:
		w.b.WriteString(`[\s\S]`)
	case syntax.OpAnyCharNotNL:
		w.b.WriteString(`[^\n]`)
	case syntax.OpNoMatch:
		w.b.WriteString(`[^\s\S]`)
	case syntax.OpBeginText:
		w.b.WriteString("^")
	case syntax.OpEndText:
		w.b.WriteString("$")
	case syntax.OpBeginLine:
		w.when(first, `(^|\n)`)
	case syntax.OpEndLine:
		w.when(last, `($|\n)`)
	case syntax.OpWordBoundary:
		w.b.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		w.b.WriteString(`\B`)
	case syntax.OpConcat:
		for i, sub := range re.Sub {
			w.expr(sub, first && i == 0, last && i == len(re.Sub)-1)
		}
	case syntax.OpCapture:
		w.group(re.Sub[0], first, last)
	case syntax.OpAlternate:
		w.b.WriteString("(")
		for i, sub := range re.Sub {
			w.when(i > 0, "|")
			w.expr(sub, first, last)
		}
		w.b.WriteString(")")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		w.group(re.Sub[0], false, false)
		w.b.WriteString(repetition(re))
	}
}

func (w *ecmaWriter) when(is bool, text string) {
	if is {
		w.b.WriteString(text)
	}
}

// group writes a single element unchanged, and any other expression in parentheses.
func (w *ecmaWriter) group(re *syntax.Regexp, first, last bool) {
	switch re.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpCapture,
		syntax.OpAlternate:
		w.expr(re, first, last)
		return
	case syntax.OpLiteral:
		if len(re.Rune) == 1 {
			w.expr(re, first, last)
			return
		}
	}
	w.b.WriteString("(")
	w.expr(re, first, last)
	w.b.WriteString(")")
}

func repetition(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpStar:
		return "*"
	case syntax.OpPlus:
		return "+"
	case syntax.OpQuest:
		return "?"
	}
	switch {
	case re.Max < 0:
		return fmt.Sprintf("{%d,}", re.Min)
	case re.Min == re.Max:
		return fmt.Sprintf("{%d}", re.Min)
	}
	return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
}

// literal writes a character, with fold in all its cases.
func (w *ecmaWriter) literal(r rune, fold bool) {
	if fold {
		if all := cases(r); len(all) > 2 {
			w.class(all)
			return
		}
	}
	w.b.WriteString(character(r, `^$\.*+?()[]{}|/`))
}

// cases returns the case variants of a letter as ranges of a class.
func cases(r rune) []rune {
	out := []rune{r, r}
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		out = append(out, c, c)
	}
	return out
}

// class writes ranges. Ranges that reach to the end of Unicode are written as a negated class.
func (w *ecmaWriter) class(ranges []rune) {
	for _, short := range shortClasses() {
		if string(ranges) == string(short.ranges) {
			w.b.WriteString(short.text)
			return
		}
	}
	if len(ranges) > maxRanges {
		ranges = widened(ranges)
	}
	if len(ranges) == 2 && ranges[0] == 0 && ranges[1] == unicode.MaxRune {
		w.b.WriteString(`[\s\S]`)
		return
	}
	w.b.WriteString("[")
	if n := len(ranges); n > 0 && ranges[n-1] == unicode.MaxRune && (ranges[0] == 0 || n > 4) {
		w.b.WriteString("^")
		ranges = append([]rune{-1}, ranges[:n-1]...)
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i]+1 < ranges[i+1] {
				w.span(ranges[i]+1, ranges[i+1]-1)
			}
		}
	} else {
		for i := 0; i+1 < len(ranges); i += 2 {
			w.span(ranges[i], ranges[i+1])
		}
	}
	w.b.WriteString("]")
}

// widened returns ranges extended by all non-ASCII characters.
func widened(ranges []rune) []rune {
	var out []rune
	for i := 0; i+1 < len(ranges) && ranges[i] < unicode.MaxASCII; i += 2 {
		out = append(out, ranges[i], min(ranges[i+1], unicode.MaxASCII))
	}
	if n := len(out); n > 0 && out[n-1] == unicode.MaxASCII {
		out[n-1] = unicode.MaxRune
		return out
	}
	return append(out, unicode.MaxASCII+1, unicode.MaxRune)
}

func (w *ecmaWriter) span(lo, hi rune) {
	const special = `\]^-[`
	w.b.WriteString(character(lo, special))
	if hi > lo {
		w.when(hi > lo+1, "-")
		w.b.WriteString(character(hi, special))
	}
}

type shortClass struct {
	text   string
	ranges []rune
}

func shortClasses() []shortClass {
	return []shortClass{{`\d`, []rune("09")}, {`\w`, []rune("09AZ__az")}}
}

// character writes a character, escaped if it is special.
func character(r rune, special string) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return fmt.Sprintf(`\x%02x`, r)
	case strings.ContainsRune(special, r):
		return `\` + string(r)
	}
	return string(r)
}
