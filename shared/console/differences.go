package console

import (
	"maps"
	"slices"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/diffview"
)

// Bounds of the values and differences of a page. A page states what it leaves out.
const (
	maxTextLines  = 400  // of one difference of texts
	maxLineRunes  = 500  // of one line of a text
	maxValueBytes = 4000 // of a value that a page shows in full
)

// The kinds of lines of a difference.
const (
	lineSame  = ""
	lineAdded = "add"
	lineGone  = "del"
	lineHunk  = "hunk" // the @@ line in front of a part
)

// diffLine is a line of a difference of texts.
type diffLine struct {
	Kind string
	Mark string // +, - or a space: the difference is visible without color
	Text string
}

// sideLine is a line of two texts beside each other. An empty kind is a gap.
type sideLine struct{ Left, Right diffLine }

// attributeChange is the difference of one attribute.
type attributeChange struct {
	Name string
	// From and To are the values on one line; both are "" if Lines or Sides show the difference.
	From, To string
	// Note replaces the values, as for a secret.
	Note  string
	Lines []diffLine // unified
	Sides []sideLine // beside each other
	More  string     // what is left out of Lines or Sides; "" if nothing is
	Long  bool       // Lines or Sides are long, and folded
}

// longDiff is the number of lines from which a difference of texts is folded.
const longDiff = 30

// changesOf returns the differences of attributes by name. With sides, texts are shown beside each
// other instead of unified.
func changesOf(changes map[string]diff.Diff, sides bool) []attributeChange {
	out := make([]attributeChange, 0, len(changes))
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if c, shown := changeOf(name, changes[name], sides); shown {
			out = append(out, c)
		}
	}
	return out
}

// changeOf returns the difference of one attribute; shown is false if it means nothing to people.
func changeOf(name string, d diff.Diff, sides bool) (c attributeChange, shown bool) {
	if diffview.OfHandler(name) {
		if d.Current == nil || d.Desired == nil {
			return c, false
		}
		text := strings.TrimSpace(diffview.Style{}.Change(name, d))
		c.Name, c.Note, _ = strings.Cut(text, ": ")
		return c, true
	}
	c.Name = line(name)
	switch {
	case d.Current == diff.Redacted && d.Desired == nil:
		c.Note = "removed (secret)"
	case d.Desired == diff.Redacted && d.Current == nil:
		c.Note = "set (secret)"
	case d.Current == diff.Redacted || d.Desired == diff.Redacted:
		c.Note = "changed (secret)"
	}
	if c.Note != "" {
		return c, true
	}
	unified := d.Unified
	if unified == "" && d.Current != nil && d.Desired != nil {
		unified = diffview.Of(d.Current, d.Desired)
	}
	if unified == "" {
		c.From, c.To = diffview.Short(d.Current), diffview.Short(d.Desired)
		return c, true
	}
	c.Lines, c.More = diffLinesOf(unified)
	c.Long = len(c.Lines) > longDiff
	if sides {
		c.Sides, c.Lines = besides(c.Lines), nil
	}
	return c, true
}

// diffLinesOf splits a unified diff into lines, and states what it leaves out.
func diffLinesOf(unified string) (out []diffLine, more string) {
	lines := strings.Split(strings.TrimSuffix(unified, "\n"), "\n")
	if n := len(lines) - maxTextLines; n > 0 {
		lines, more = lines[:maxTextLines], plural(n, "more line")
	}
	for _, text := range lines {
		l := diffLine{Kind: lineSame, Mark: " "}
		switch {
		case strings.HasPrefix(text, "@@"):
			l.Kind, l.Mark = lineHunk, ""
		case strings.HasPrefix(text, "+"):
			l.Kind, l.Mark, text = lineAdded, "+", text[1:]
		case strings.HasPrefix(text, "-"):
			l.Kind, l.Mark, text = lineGone, "-", text[1:]
		default:
			text = strings.TrimPrefix(text, " ")
		}
		l.Text = diffview.Visible(cutEnd(text, maxLineRunes), "\t")
		out = append(out, l)
	}
	return out, more
}

// besides puts the lines of a unified diff beside each other: removed lines left, the added lines
// that follow them right.
func besides(lines []diffLine) []sideLine {
	var out []sideLine
	var left, right []diffLine
	flush := func() {
		for i := range max(len(left), len(right)) {
			var s sideLine
			if i < len(left) {
				s.Left = left[i]
			}
			if i < len(right) {
				s.Right = right[i]
			}
			out = append(out, s)
		}
		left, right = nil, nil
	}
	for _, l := range lines {
		switch l.Kind {
		case lineGone:
			if len(right) > 0 {
				flush()
			}
			left = append(left, l)
		case lineAdded:
			right = append(right, l)
		default:
			flush()
			out = append(out, sideLine{l, l})
		}
	}
	flush()
	return out
}

// attribute is one attribute of a resource, desired and as seen last.
type attribute struct {
	Name          string
	Desired, Seen string
	Differs       bool
	Unknown       bool // nothing is known of the seen value
	Change        attributeChange
}

// attributesOf compares desired values with those seen last, and returns those that differ and
// those that do not, each by name. Of equal attributes only the desired value is set.
func attributesOf(desired, seen map[string]any, exists, sides bool) (differ, equal []attribute) {
	exact := diffview.Style{Whole: true}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		if diffview.OfHandler(name) {
			continue
		}
		want := desired[name]
		a := attribute{Name: line(name), Desired: fullValue(want)}
		have, known := seen[name]
		switch {
		case !exists || !known:
			a.Unknown = exists
		case exact.Value(have) != exact.Value(want):
			a.Differs = true
			a.Seen = diffview.Short(have)
			a.Change, _ = changeOf(name, diff.Diff{Current: have, Desired: want}, sides)
		}
		if a.Differs {
			differ = append(differ, a)
		} else {
			equal = append(equal, a)
		}
	}
	return differ, equal
}

// fullValue returns a value at full length up to a bound: a text as it is, other values as JSON.
func fullValue(v any) string {
	text, is := v.(string)
	if !is {
		text = diffview.Style{Whole: true}.Value(v)
	}
	return diffview.Visible(cutEnd(text, maxValueBytes), "\n\t")
}

// cutEnd returns at most limit characters of a text, and marks a truncated one.
func cutEnd(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// line returns a text on one line with control characters and bidirectional controls escaped.
func line(s string) string { return diffview.Visible(s, "") }
