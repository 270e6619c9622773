package textfile

import (
	"slices"
	"strings"
)

// byteOrderMark may precede the first line of a file, and is preserved.
const byteOrderMark = "\ufeff"

// The ends of lines. A carriage return alone ends a line only in a text without any line feed.
const (
	lineFeed = "\n"
	crLF     = "\r\n"
	carriage = "\r"
)

// Lines are the lines of a text, each with its end. A line that replaces another keeps its end. An
// added line ends as the first line does, and so does the line before it if that had no end.
type Lines struct {
	mark    string
	end     string // of lines that are added
	all     []line
	indexes map[string]*Index
	memo    map[any]memo
	edits   int
	log     []splice // since Begin; see Undo
}

// line is one line; only the last has no end.
type line struct{ text, end string }

// splice is one replacement: how to undo it.
type splice struct {
	from, added int
	old         []line
}

// LinesOf splits a text.
func LinesOf(text string) *Lines {
	l := &Lines{end: lineFeed}
	if rest, ok := strings.CutPrefix(text, byteOrderMark); ok {
		l.mark, text = byteOrderMark, rest
	}
	sep := lineFeed
	if strings.Contains(text, carriage) && !strings.Contains(text, lineFeed) {
		sep = carriage
	}
	l.all = make([]line, 0, strings.Count(text, sep)+1)
	for text != "" {
		one, rest, ended := strings.Cut(text, sep)
		end := ""
		if ended {
			end = sep
		}
		if body, ok := strings.CutSuffix(one, carriage); ok && ended && sep == lineFeed {
			one, end = body, crLF
		}
		l.all, text = append(l.all, line{one, end}), rest
	}
	if len(l.all) > 0 && l.all[0].end != "" {
		l.end = l.all[0].end
	}
	return l
}

// Text returns the whole text.
func (l *Lines) Text() string {
	var b strings.Builder
	b.WriteString(l.mark)
	for _, s := range l.all {
		b.WriteString(s.text)
		b.WriteString(s.end)
	}
	return b.String()
}

// Len returns how many lines there are.
func (l *Lines) Len() int { return len(l.all) }

// At returns a line without its end.
func (l *Lines) At(i int) string { return l.all[i].text }

// Find returns the numbers of the lines for which f is true.
func (l *Lines) Find(f func(line string) bool) []int {
	var out []int
	for i := range l.all {
		if f(l.all[i].text) {
			out = append(out, i)
		}
	}
	return out
}

// Equal returns the numbers of the lines with this text.
func (l *Lines) Equal(text string) []int {
	var out []int
	for i := range l.all {
		if l.all[i].text == text {
			out = append(out, i)
		}
	}
	return out
}

// Close gives the last line an end if it has none.
func (l *Lines) Close() {
	if n := len(l.all); n > 0 && l.all[n-1].end == "" {
		l.replace(n-1, n, []line{{l.all[n-1].text, l.end}})
	}
}

// open reports whether the last line has no end.
func (l *Lines) open() bool { n := len(l.all); return n > 0 && l.all[n-1].end == "" }

// reopen removes the end of the last line if the resulting text is the intended one.
func (l *Lines) reopen(right func() bool) {
	n := len(l.all)
	if n == 0 || l.open() {
		return
	}
	last := l.all[n-1]
	if l.replace(n-1, n, []line{{last.text, ""}}); !right() {
		l.replace(n-1, n, []line{last})
	}
}

// Replace replaces the lines from..to-1 by others. If lines are added after a last line without a
// line end, that line gets one. If the last line is replaced or removed, the new last line has a
// line end if the old one had one.
func (l *Lines) Replace(from, to int, others ...string) {
	end := l.end
	added := make([]line, len(others))
	for i, s := range others {
		added[i] = line{s, end}
		if len(others) == to-from {
			added[i].end = l.all[from+i].end
		}
	}
	switch n := len(l.all); {
	case !l.open() || to < n:
	case from == to: // after the last line
		from--
		added = append([]line{{l.all[from].text, end}}, added...)
	case len(added) > 0:
		added[len(added)-1].end = ""
	case from > 0:
		from--
		added = []line{{l.all[from].text, ""}}
	}
	if n := len(added); n > 0 && added[n-1] == (line{}) {
		added[n-1].end = end // an empty line without an end would not exist
	}
	l.replace(from, to, added)
}

// replace makes one edit, and logs how to undo it.
func (l *Lines) replace(from, to int, added []line) {
	old := slices.Clone(l.all[from:to])
	l.log = append(l.log, splice{from, len(added), old})
	l.splice(from, to, added)
}

func (l *Lines) splice(from, to int, added []line) {
	for _, x := range l.indexes {
		x.splice(l, from, to, added)
	}
	l.all = slices.Replace(l.all, from, to, added...)
	l.edits++
}

// memo is a value computed from the lines, and the number of edits at that time.
type memo struct {
	value any
	edits int
}

// Memo returns the result of build for the lines, cached until they change. build may reuse the
// memory of its previous result.
func (l *Lines) Memo(key any, build func(old any) any) any {
	m, ok := l.memo[key]
	if ok && m.edits == l.edits {
		return m.value
	}
	if l.memo == nil {
		l.memo = map[any]memo{}
	}
	v := build(m.value)
	l.memo[key] = memo{v, l.edits}
	return v
}

// Begin discards the undo log.
func (l *Lines) Begin() { l.log = nil }

// Undo undoes all edits since Begin.
func (l *Lines) Undo() {
	for _, e := range slices.Backward(l.log) {
		l.splice(e.from, e.from+e.added, e.old)
	}
	l.log = nil
}
