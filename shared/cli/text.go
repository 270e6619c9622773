package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
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

// columns returns the width of a terminal, textWidth if it does not say; 0 if w is none.
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

// fitted cuts a line that is too long for a terminal of so many columns, 0 if there is none, and
// shows that it does.
func fitted(line string, columns int) string {
	if columns == 0 || cut(line, columns) == line {
		return line
	}
	return cut(line, columns-1) + "…"
}

// painted is text with colour codes that paint has put there; everything else that is written for
// people is made harmless.
type painted string

// harmless returns the arguments of a format with control characters escaped, because ids, reasons
// and log lines come from documents and from managed machines and must not control the terminal.
// Line breaks and tabs are kept, except in ids.
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
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			columns--
		}
		if columns < 0 {
			return line[:i]
		}
	}
	return line
}

// colored reports whether results are shown in colour: on a terminal, unless somebody does not want
// that.
func (a *app) colored() bool {
	_, is := terminal(a.out)
	return is && !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// paint returns a status padded to a width, and in colour on a terminal.
func (a *app) paint(s state.Status, width int) painted {
	text := fmt.Sprintf("%-*s", width, s)
	if !a.colored() {
		return painted(text)
	}
	code := "33"
	switch s {
	case state.StatusDeployed:
		code = "32"
	case state.StatusFailed, state.StatusUnavailable:
		code = "31"
	}
	return painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

// style says how differences are shown.
func (a *app) style(indent string) diffview.Style {
	return diffview.Style{Indent: indent, Whole: a.full, Color: a.colored()}
}

// diff writes differences: of texts as unified diffs, other values on a line.
func (a *app) diff(changes map[string]diff.Diff) {
	a.printf("%s", painted(a.style("    ").Changes(changes)))
}

// fullFlag gives a command the flag that has it show values as long as they are.
func (a *app) fullFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.full, "full", false, "show whole values, however long they are")
}

// firstIDs names the first few of ids.
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
