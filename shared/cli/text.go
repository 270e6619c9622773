package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"southbound/shared/deploy"
	"southbound/shared/plan"
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
const textWidth = 100

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
	fd := int(f.Fd()) //nolint:gosec // a file descriptor
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

// fitted cuts a line that is too long for a terminal of so many columns, 0 if there is none, and shows that it does.
func fitted(line string, columns int) string {
	if columns == 0 || cut(line, columns) == line {
		return line
	}
	return cut(line, columns-1) + "…"
}

// painted is text with colour codes that paint has put there; everything else that is written for people is made harmless.
type painted string

// harmless returns the arguments of a format with control characters escaped, because ids, reasons and log lines come from documents and from
// managed machines and must not control the terminal. Line breaks and tabs are kept, except in ids.
func harmless(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			arg = visible(v, "\n\t")
		case resource.ID:
			arg = oneLine(string(v))
		case error:
			arg = visible(v.Error(), "\n\t")
		}
		out[i] = arg
	}
	return out
}

// oneLine escapes everything that does not print, line breaks too.
func oneLine(s string) string { return visible(s, "") }

// visible escapes the characters that do not print, except those in keep.
func visible(s, keep string) string {
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

// paint returns a status padded to a width, and in colour on a terminal.
func (a *app) paint(s deploy.Status, width int) painted {
	text := fmt.Sprintf("%-*s", width, s)
	if _, is := terminal(a.out); a.noColor || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !is {
		return painted(text)
	}
	code := "33"
	switch s {
	case deploy.StatusDeployed:
		code = "32"
	case deploy.StatusFailed, deploy.StatusUnavailable:
		code = "31"
	}
	return painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

// diff writes differences, one attribute per line.
func (a *app) diff(changes map[string]plan.Diff) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if d := changes[name]; d.Current == nil {
			a.printf("    %s: %s\n", name, short(d.Desired))
		} else {
			a.printf("    %s: %s -> %s\n", name, short(d.Current), short(d.Desired))
		}
	}
}

// mostShown bounds how many characters of a value are shown.
const mostShown = 80

// plainJSON returns JSON for people: characters that are special only in web pages are not escaped.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// short returns a value in one line.
func short(v any) string {
	if v == nil {
		return "nothing"
	}
	if size, hash, is := fileOf(v); is {
		return fmt.Sprintf("%s, SHA-256 %.12s", plural(size, "byte"), hash)
	}
	b, err := plainJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if r := []rune(string(b)); len(r) > mostShown {
		return string(r[:mostShown-1]) + "…"
	}
	return string(b)
}

// fileOf recognises a reference to a file, also in the form that it has in JSON.
func fileOf(v any) (size int, hash string, is bool) {
	switch v := v.(type) {
	case resource.File:
		return int(v.Size), v.Hash, true
	case map[string]any:
		hash, isText := v["file"].(string)
		if !isText || len(v) != 2 {
			return 0, "", false
		}
		switch n := v["size"].(type) {
		case float64:
			return int(n), hash, true
		case int64:
			return int(n), hash, true
		case json.Number:
			size, err := n.Int64()
			return int(size), hash, err == nil
		}
	}
	return 0, "", false
}

// firstIDs names the first few of ids.
func firstIDs(ids []resource.ID, most int) string {
	return moreIDs(ids[:min(len(ids), most)], len(ids))
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
