package textfile

import (
	"slices"
	"strings"
)

// byteOrderMark may stand before the first line of a file, and stays there.
const byteOrderMark = "\ufeff"

// Lines are the lines of a text, each with its end. Lines that are put in end as the first line
// does, and whether the last line has an end is kept, so that what is put in and taken out again
// leaves no trace.
type Lines struct {
	mark string
	all  []string
}

// LinesOf splits a text.
func LinesOf(text string) *Lines {
	l := &Lines{}
	if rest, ok := strings.CutPrefix(text, byteOrderMark); ok {
		l.mark, text = byteOrderMark, rest
	}
	if text != "" {
		l.all = strings.SplitAfter(text, "\n")
	}
	if n := len(l.all); n > 0 && l.all[n-1] == "" {
		l.all = l.all[:n-1]
	}
	return l
}

// Text returns the whole text.
func (l *Lines) Text() string { return l.mark + strings.Join(l.all, "") }

// Len returns how many lines there are.
func (l *Lines) Len() int { return len(l.all) }

// At returns a line without its end.
func (l *Lines) At(i int) string {
	return withoutEnd(l.all[i])
}

func withoutEnd(s string) string {
	if body, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.TrimSuffix(body, "\r")
	}
	return s
}

// Find returns where the lines are that f is true of.
func (l *Lines) Find(f func(line string) bool) []int {
	var out []int
	for i := range l.all {
		if f(l.At(i)) {
			out = append(out, i)
		}
	}
	return out
}

// end is how lines of this text end.
func (l *Lines) end() string {
	if len(l.all) > 0 && strings.HasSuffix(l.all[0], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// open reports whether the last line has no end.
func (l *Lines) open() bool {
	return len(l.all) > 0 && !strings.HasSuffix(l.all[len(l.all)-1], "\n")
}

// Replace puts others in the place of the lines from..to-1.
func (l *Lines) Replace(from, to int, others ...string) {
	end, open, last := l.end(), l.open(), ""
	if open {
		last = l.all[len(l.all)-1]
		l.all[len(l.all)-1] += end
	}
	added := make([]string, len(others))
	for i, s := range others {
		added[i] = s + end
	}
	l.all = slices.Replace(l.all, from, to, added...)
	n := len(l.all)
	switch {
	case !open || n == 0:
	case l.all[n-1] == last+end:
		l.all[n-1] = last
	default:
		l.all[n-1] = withoutEnd(l.all[n-1])
	}
}
