package source

import (
	"bytes"
	"slices"
	"sync/atomic"
)

// A text that cannot be read as a whole is read once more for the problems that it has besides, document by document: a line that starts
// with --- begins another one wherever it stands. Of a document that cannot be read, what stands before the place counts, without the
// resource in which that is. What may stand behind it is not taken to be missing.

// salvage reports what is wrong with a stream of documents at least one of which cannot be read; false if all can be, one by one.
func (l *loader) salvage(d document, text []byte, b *budget) (*part, bool) {
	t := l.taker(d, b)
	if hasOtherBreaks(text) { // lines cannot be counted
		return nil, false
	}
	for _, p := range documentsOf(text) {
		before := len(t.broken)
		c := &converter{report: &t.report, shift: p.at.line - 1, expanded: new(atomic.Int64)}
		docs, _ := c.parse(p.text)
		if len(t.broken) > before {
			t.dropped = append(t.dropped, "")
			if len(docs) == 0 {
				docs = t.beginning(p, t.broken[before])
			}
		}
		for i := range docs {
			t.document(&docs[i])
		}
	}
	return t.part, len(t.broken) > 0
}

// documentsOf cuts a stream in front of its documents.
func documentsOf(text []byte) []piece {
	var out []piece
	from, at, line, prolog := 0, 0, int32(1), true
	start := place{1, 1}
	cut := func(to int, next int32) {
		if to > from {
			out = append(out, piece{text[from:to], start})
		}
		from, start, prolog = to, place{next, 1}, true
	}
	for l := range bytes.Lines(text) {
		switch {
		case marks(l, "---"):
			if !prolog {
				cut(at, line)
			}
			prolog = false
		case marks(l, "..."):
			cut(at+len(l), line+1)
		case !blankOrComment(bytes.TrimRight(l, "\n")) && l[0] != '%':
			prolog = false
		}
		at, line = at+len(l), line+1
	}
	cut(len(text), line)
	return out
}

// marks reports whether a line starts or ends a document.
func marks(line []byte, mark string) bool {
	rest, is := bytes.CutPrefix(line, []byte(mark))
	return is && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// mostCuts bounds how often a document is cut shorter until it can be read.
const mostCuts = 4

// beginning reads a document up to the line of a place where it cannot be read, or, when that is in the middle of something, up to an item of
// its resources that starts before. What ends there is marked as cut.
func (r *report) beginning(p piece, at place) []node {
	line := at.line - p.at.line // the one that cannot be read, from 0
	for n := range mostCuts {
		end := lineStart(p.text, line)
		if n > 0 {
			end = itemBefore(p.text[:lineStart(p.text, line+1)])
		}
		if end <= 0 {
			return nil
		}
		c := &converter{report: &report{file: r.file, budget: r.budget}, shift: p.at.line - 1, expanded: new(atomic.Int64)}
		docs, _ := c.parse(p.text[:end])
		if len(c.broken) == 0 {
			if len(docs) == 1 {
				docs[0].end(n == 0 && itemBefore(p.text[:lineStart(p.text, line+1)]) != end)
			}
			r.take(c.report)
			return docs
		}
		line = min(c.broken[0].line-p.at.line, int32(bytes.Count(p.text[:end], newline))) //nolint:gosec // texts are bounded
	}
	return nil
}

// take adds the problems of another report of the same file, except for those of its syntax.
func (r *report) take(other *report) {
	for _, q := range other.list {
		if at := placeAt(q.Pos); !slices.Contains(other.broken, at) {
			*r.add(at, "", "") = q
		}
	}
}

// lineStart returns the offset at which a line starts, counted from 0.
func lineStart(text []byte, line int32) int {
	at := 0
	for range line {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	return at
}

// itemBefore returns where the last item of the list of resources starts, or 0.
func itemBefore(text []byte) int {
	head, ok := resourcesLine(text)
	if !ok {
		return 0
	}
	rest := text[head:]
	for {
		line, after, more := bytes.Cut(rest, newline)
		if !blankOrComment(line) {
			break
		}
		if rest = after; !more {
			return 0
		}
	}
	indent := len(rest) - len(bytes.TrimLeft(rest, " "))
	item := append(append([]byte{'\n'}, bytes.Repeat([]byte{' '}, indent)...), "- "...)
	return max(bytes.LastIndex(text[:len(text)-1], item), head-1) + 1
}

// end marks a document as one that goes on, with unread also all that its last values are in.
func (n *node) end(unread bool) {
	n.cut, n.bad = true, true
	for unread && len(n.items) > 0 {
		n = &n.items[len(n.items)-1]
		n.cut, n.bad = true, true
	}
}

// broken marks a list or a map as one that cannot be read to its end. What stands last may be meant to be more than the number or word that
// was read.
func (n *node) broken() {
	n.cut, n.bad = true, true
	if len(n.items) > 0 {
		if last := &n.items[len(n.items)-1]; last.kind == scalar {
			if _, quoted := last.value.(string); !quoted {
				last.cut, last.bad = true, true
			}
		}
	}
}
