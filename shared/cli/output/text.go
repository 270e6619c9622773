package output

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/resource"
)

// Plural returns a number with its noun.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// TextWidth is the width of descriptions, in characters.
const TextWidth = 80

// Wrapped breaks a text into indented lines.
func Wrapped(text, indent string) string {
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		switch n := len([]rune(word)); {
		case at == 0:
			b.WriteString(indent + word)
			at = len(indent) + n
		case at+1+n > TextWidth:
			b.WriteString("\n" + indent + word)
			at = len(indent) + n
		default:
			b.WriteString(" " + word)
			at += 1 + n
		}
	}
	return b.String()
}

// Terminal reports whether w is a terminal.
func Terminal(w any) (int, bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	fd := int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// Columns returns the width of a terminal, TextWidth if it is unknown; 0 if w is no terminal.
func Columns(w any) int {
	fd, is := Terminal(w)
	if !is {
		return 0
	}
	if n, _, err := term.GetSize(fd); err == nil && n > 0 {
		return n
	}
	return TextWidth
}

// Fitted truncates a line to the width of a terminal, and marks the truncation; columns is 0 if
// there is no terminal.
func Fitted(line string, columns int) string {
	if columns == 0 || Cut(line, columns) == line {
		return line
	}
	return Cut(line, columns-1) + "…"
}

// Painted is text with colour codes that paint has added; all other text for people is made
// harmless.
type Painted string

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
			arg = OneLine(string(v))
		case error:
			arg = diffview.Visible(v.Error(), "\n\t")
		}
		out[i] = arg
	}
	return out
}

// OneLine escapes everything that does not print, line breaks too.
func OneLine(s string) string { return diffview.Visible(s, "") }

// Cut returns the beginning of a line that takes at most so many columns of a terminal.
func Cut(line string, columns int) string {
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

// FirstIDs names the first ids.
func FirstIDs(ids []resource.ID, limit int) string {
	return MoreIDs(ids[:min(len(ids), limit)], len(ids))
}

// MoreIDs names ids, which are the first few of a greater number.
func MoreIDs(ids []resource.ID, of int) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, string(id))
	}
	if of > len(ids) {
		parts = append(parts, fmt.Sprintf("and %d more", of-len(ids)))
	}
	return strings.Join(parts, ", ")
}

// AgentText describes the state of an agent.
func AgentText(g api.Agent) string {
	text := g.Transport
	if text == "" {
		text = "not in any version"
	}
	if g.Lanes > 1 {
		text += ", " + Plural(g.Lanes, "lane")
	}
	if g.Paused {
		text += ", paused"
	}
	if g.UnservedMS > 0 {
		text += ", has had work without a process that serves it for " +
			(time.Duration(g.UnservedMS) * time.Millisecond).Round(time.Second).String()
	}
	return text
}

// ChangeWord returns the word for a change of a resource.
func ChangeWord(c diff.Change, replaced bool) string {
	if replaced && c == diff.Updated {
		return "replaced"
	}
	return string(c)
}

// Numbered replaces every json.Number in a value by a node, since the YAML encoder would write it
// as text.
func Numbered(v any) any {
	return resource.Map(v, func(v any) any {
		n, is := v.(json.Number)
		if !is {
			return v
		}
		tag := "!!int"
		if strings.ContainsAny(string(n), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(n)}
	})
}

// ShellWord quotes a word for a shell if necessary.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) ||
			strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CountsText returns the numbers of resources by status as text.
func CountsText(counts map[state.Status]int) string {
	var parts []string
	for _, s := range api.Statuses() {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "nothing there"
	}
	return strings.Join(parts, ", ")
}

// MaxNamed is how many agents of a wave are named.
const MaxNamed = 5

// Named names the first few agents.
func Named(agents []string) string {
	text := strings.Join(agents[:min(len(agents), MaxNamed)], ", ")
	if more := len(agents) - MaxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return OneLine(text)
}
