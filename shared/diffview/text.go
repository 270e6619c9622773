package diffview

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Unified returns the unified diff of two texts, with three lines of context and without file
// names. It returns "" if the texts are equal.
func Unified(current, desired string) string {
	if current == desired {
		return ""
	}
	edits := []udiff.Edit{{Start: 0, End: len(current), New: desired}}
	if max(len(current), len(desired)) <= maxDiff<<10 {
		edits = udiff.Lines(current, desired)
	}
	text, err := udiff.ToUnified("a", "b", current, edits, udiff.DefaultContextLines)
	if err != nil { // the edits do not fit the text: a bug of the library
		return "-" + strings.ReplaceAll(current, "\n", "\n-") +
			"\n+" + strings.ReplaceAll(desired, "\n", "\n+") + "\n"
	}
	_, text, _ = strings.Cut(text, "\n") // --- a
	_, text, _ = strings.Cut(text, "\n") // +++ b
	return text
}

// IsText reports whether bytes are readable text: UTF-8 without control characters, except tab,
// line break, carriage return, form feed and escape.
func IsText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\x1b' {
			return false
		}
	}
	return true
}

// Visible escapes non-printing characters, except those in keep. Displayed values come from
// documents and from managed machines, and must not control the terminal.
func Visible(s, keep string) string {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) && !strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut returns at most limit characters of s, and marks a truncated text.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
