// Package diffview formats differences of values for people: texts as unified diffs with context,
// other values in the shortest form that shows the difference. The output is safe for a terminal.
package diffview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diff"
)

const (
	maxValue = 80   // maximum length of a value on one line, in characters
	maxLine  = 400  // maximum length of a line of a text, in characters
	maxLines = 200  // maximum length of a diff, in lines
	oneLine  = 100  // maximum length of two values on the same line, in characters
	maxDiff  = 1024 // maximum size of a text that is compared line by line, in KiB
)

// handlerPart returns a readable name for the attributes that resources have for their handlers
// (see deploy/model), whose values mean nothing to people. It returns "" for other attributes.
func handlerPart(name string) string {
	switch name {
	case "_type":
		return "declaration of the type"
	case "_code":
		return "handler code"
	case "_packages":
		return "Python packages"
	case "_files":
		return "files of the handler"
	case "_facts":
		return "facts for the handler"
	}
	return ""
}

// OfHandler reports whether an attribute is for the handler only, and its value is not shown to
// people.
func OfHandler(name string) bool { return handlerPart(name) != "" }

// Style holds the options of the format.
type Style struct {
	Indent string // prefix of each line
	Whole  bool   // values at full length
	Color  bool   // with terminal colors
}

// Changes formats the differences, sorted by attribute, each line terminated by a line break. It
// returns "" if there is no difference.
func (s Style) Changes(changes map[string]diff.Diff) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		b.WriteString(s.Change(name, changes[name]))
	}
	return b.String()
}

// Change formats the difference of one attribute, or of another named value.
func (s Style) Change(name string, d diff.Diff) string {
	if what := handlerPart(name); what != "" {
		if d.Current == nil || d.Desired == nil {
			return ""
		}
		return fmt.Sprintf("%s%s: changed\n", s.Indent, what)
	}
	name = Visible(name, "")
	if what := secret(d); what != "" {
		return fmt.Sprintf("%s%s: %s\n", s.Indent, name, what)
	}
	if diff := s.unified(d); diff != "" {
		return s.Indent + name + ":\n" + s.Text(diff)
	}
	now, wanted := s.Value(d.Current), s.Value(d.Desired)
	switch {
	case d.Current == nil:
		return fmt.Sprintf("%s%s: %s\n", s.Indent, name, wanted)
	case d.Desired == nil:
		return fmt.Sprintf("%s%s: %s -> nothing\n", s.Indent, name, now)
	case len(now)+len(wanted) <= oneLine:
		return fmt.Sprintf("%s%s: %s -> %s\n", s.Indent, name, now, wanted)
	}
	return s.Indent + name + ":\n" + s.Text("-"+now+"\n+"+wanted+"\n")
}

// secret describes the change of a hidden value, or returns "" if the value is shown.
func secret(d diff.Diff) string {
	switch {
	case d.Current == diff.Redacted && d.Desired == nil:
		return "removed (secret)"
	case d.Desired == diff.Redacted && d.Current == nil:
		return "set (secret)"
	case d.Current == diff.Redacted || d.Desired == diff.Redacted:
		return "changed (secret)"
	}
	return ""
}

// unified returns the difference as a unified diff, or "" if another form is shorter.
func (s Style) unified(d diff.Diff) string {
	if d.Unified != "" {
		return d.Unified
	}
	if !s.Whole && (d.Current == nil || d.Desired == nil) {
		return "" // the creation or removal is enough information
	}
	return Of(d.Current, d.Desired)
}

// Of returns the unified diff of two values, if that is the clearest form. This is the case for
// texts of several lines, and for lists and maps that do not fit on a line, which are compared as
// indented JSON. A nil value is the empty text. Otherwise, Of returns "".
func Of(current, desired any) string {
	now, isText := textOf(current)
	wanted, both := textOf(desired)
	switch {
	case isText && both && (severalLines(now) || severalLines(wanted)):
		return Unified(now, wanted)
	case !structured(current) || !structured(desired),
		len(short(current, maxLine))+len(short(desired, maxLine)) <= oneLine:
		return ""
	}
	return Unified(indented(current), indented(desired))
}

func textOf(v any) (text string, is bool) {
	text, is = v.(string)
	return text, is || v == nil
}

func severalLines(s string) bool { return strings.Contains(strings.TrimSuffix(s, "\n"), "\n") }

func structured(v any) bool {
	if _, _, isFile := File(v); isFile {
		return false
	}
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// indented returns a value as indented JSON.
func indented(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return fmt.Sprint(v) + "\n"
	}
	return string(unquoted(b.Bytes()))
}

// Value returns a value on one line.
func (s Style) Value(v any) string {
	if s.Whole {
		return Visible(short(v, 0), "")
	}
	return Short(v)
}

// Text formats a unified diff: indented, safe for a terminal, colored if Color is set, and
// truncated unless Whole is set.
func (s Style) Text(diff string) string {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	left := 0
	if !s.Whole && len(lines) > maxLines {
		left = len(lines) - maxLines
		lines = lines[:maxLines]
	}
	var b strings.Builder
	for _, line := range lines {
		if !s.Whole {
			line = cut(line, maxLine)
		}
		b.WriteString(s.Indent + "  " + s.paint(Visible(line, "\t")) + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "%s  … %d more lines\n", s.Indent, left)
	}
	return b.String()
}

// paint colors a line of a diff.
func (s Style) paint(line string) string {
	code := ""
	switch {
	case !s.Color:
	case strings.HasPrefix(line, "+"):
		code = "32"
	case strings.HasPrefix(line, "-"):
		code = "31"
	case strings.HasPrefix(line, "@@"):
		code = "36"
	}
	if code == "" {
		return line
	}
	return "\x1b[" + code + "m" + line + "\x1b[0m"
}
