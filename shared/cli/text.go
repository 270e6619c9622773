package cli

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"southbound/shared/diffview"
	"southbound/shared/resource"
)

// plural returns a number with its noun.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// textWidth is the width of descriptions, in characters.
const textWidth = 80

// wrapped breaks a text into indented lines.
func wrapped(text, indent string) string {
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		switch n := len([]rune(word)); {
		case at == 0:
			b.WriteString(indent + word)
			at = len(indent) + n
		case at+1+n > textWidth:
			b.WriteString("\n" + indent + word)
			at = len(indent) + n
		default:
			b.WriteString(" " + word)
			at += 1 + n
		}
	}
	return b.String()
}

// terminal reports whether w is a terminal.
func terminal(w any) (int, bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	fd := int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// columns returns the width of a terminal, textWidth if it is unknown; 0 if w is no terminal.
func columns(w any) int {
	fd, is := terminal(w)
	if !is {
		return 0
	}
	if n, _, err := term.GetSize(fd); err == nil && n > 0 {
		return n
	}
	return textWidth
}

// fitted truncates a line to the width of a terminal, and marks the truncation; columns is 0 if
// there is no terminal.
func fitted(line string, columns int) string {
	if columns == 0 || cut(line, columns) == line {
		return line
	}
	return cut(line, columns-1) + "…"
}

// painted is text with colour codes that paint has added; all other text for people is made
// harmless.
type painted string

// harmless returns the arguments of a format with control characters escaped. Ids, reasons and log
// lines come from documents and from managed machines, and must not control the terminal. Line
// breaks and tabs are kept, except in ids.
func harmless(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			arg = diffview.Visible(v, "\n\t")
		case resource.ID:
			arg = oneLine(string(v))
		case error:
			arg = diffview.Visible(v.Error(), "\n\t")
		}
		out[i] = arg
	}
	return out
}

// oneLine escapes everything that does not print, line breaks too.
func oneLine(s string) string { return diffview.Visible(s, "") }

// cut returns the beginning of a line that takes at most so many columns of a terminal.
func cut(line string, columns int) string {
	for i, r := range line {
		columns--
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide ||
			kind == width.EastAsianFullwidth {
			columns--
		}
		if columns < 0 {
			return line[:i]
		}
	}
	return line
}

// firstIDs names the first ids.
func firstIDs(ids []resource.ID, limit int) string {
	return moreIDs(ids[:min(len(ids), limit)], len(ids))
}

// moreIDs names ids, which are the first few of a greater number.
func moreIDs(ids []resource.ID, of int) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, string(id))
	}
	if of > len(ids) {
		parts = append(parts, fmt.Sprintf("and %d more", of-len(ids)))
	}
	return strings.Join(parts, ", ")
}
