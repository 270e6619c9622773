package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines returns the problem as people read it, line by line: what is wrong and where, the line of
// the input with a mark below, the other places that take part with theirs, and the hint. text
// returns the line of the input at a place, without its end; false where it is not to be shown.
func (p Problem) Lines(text func(Pos) (string, bool)) []string {
	out := append(lines(p.String()), marked(p.Pos, text)...)
	shown := p.Pos // the line that is shown last
	for _, r := range p.Related {
		if r.Message == "" {
			continue
		}
		out = append(out, indented(r.Pos.String()+": "+r.Message)...)
		if r.File != shown.File || r.Line != shown.Line {
			out = append(out, marked(r.Pos, text)...)
		}
		shown = r.Pos
	}
	if p.Hint != "" {
		out = append(out, indented(p.Hint)...)
	}
	return out
}

// lines returns the lines of a message, such as that of an exception: all but the first are
// indented.
func lines(message string) []string {
	first, rest, more := strings.Cut(message, "\n")
	if !more {
		return []string{first}
	}
	return append([]string{first}, indented(rest)...)
}

// indented returns the lines of a text, each indented.
func indented(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, "  "+line)
	}
	return out
}

// widest is how much of a line is shown.
const widest = 100

// marked returns the line at a place and a line that marks the word there; none if it is not known.
func marked(at Pos, text func(Pos) (string, bool)) []string {
	if at.Line == 0 || at.Column == 0 {
		return nil
	}
	line, ok := text(at)
	column := at.Column - 1
	if !ok || column > utf8.RuneCountInString(line) {
		return nil
	}
	runes := []rune(line)
	if first := column - widest*3/4; first > 0 {
		runes, column = append([]rune("…"), runes[first:]...), column-first+1
	}
	if len(runes) > widest {
		runes = append(runes[:widest:widest], '…')
	}
	var below strings.Builder
	for _, r := range runes[:column] {
		if r != '\t' {
			r = ' '
		}
		below.WriteRune(r)
	}
	number := fmt.Sprintf("%5d", at.Line)
	return []string{
		number + " | " + string(runes),
		strings.Repeat(" ", len(number)) + " | " + below.String() + mark(runes[column:]),
	}
}

// mark returns ^ for each character of the word or the text in quotes with which a line goes on.
func mark(rest []rune) string {
	n := 0
	switch {
	case len(rest) == 0:
	case rest[0] == '"' || rest[0] == '\'':
		for n = 1; n < len(rest) && rest[n] != rest[0]; n++ {
			if rest[n] == '\\' {
				n++
			}
		}
		n++
	default:
		for n < len(rest) && (unicode.IsLetter(rest[n]) || unicode.IsDigit(rest[n]) ||
			strings.ContainsRune("_:", rest[n]) || rest[n] == '-' && n > 0) {
			n++
		}
		for n > 0 && rest[n-1] == ':' {
			n--
		}
	}
	return strings.Repeat("^", max(min(n, len(rest)), 1))
}
