package source

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
)

// A text that cannot be read as a whole is read once more for the problems that it has besides,
// document by document: a line that starts with --- begins another one wherever it stands. Of a
// document that cannot be read, what stands before the place counts, without the resource in which
// that is, and what stands behind that resource: a line that starts an item of the list of
// resources begins another one. What may stand in what cannot be read is not taken to be missing.

// salvage reports what is wrong with a stream of documents at least one of which cannot be read;
// false if all can be, one by one.
func (l *loader) salvage(d document, text []byte, b *budget) (*part, bool) {
	t := l.taker(d, b)
	if hasOtherBreaks(text) { // lines cannot be counted
		return nil, false
	}
	for _, p := range documentsOf(text) {
		t.defaults = l.defaults
		t.pieceOf(p, true)
	}
	return t.part, len(t.broken) > 0
}

// salvagePieces is salvage for a document that is too long to be read as one: piece by piece of its
// list of resources.
func (l *loader) salvagePieces(d document, o outline, b *budget) (*part, bool) {
	t := l.taker(d, b)
	if !t.header(&o.root) {
		return t.part, true
	}
	for _, p := range o.pieces {
		t.pieceOf(asDocument(p.text, p.at.line), false)
	}
	return t.part, len(t.broken) > 0
}

// asDocument returns items of a list of resources, of which the first starts at a line, as a
// document.
func asDocument(items []byte, line int32) piece {
	const head = "southbound: 1\nresources:\n"
	return piece{append([]byte(head), items...), place{line - int32(strings.Count(head, "\n")), 1}}
}

// pieceOf reads a document, or what is left of one behind something that cannot be read: then it
// begins with what asDocument has put there.
func (t *taker) pieceOf(p piece, first bool) {
	names := newAnchors(t.budget)
	for {
		before := len(t.broken)
		names.lost = !first
		c := &converter{report: &t.report, shift: p.at.line - 1, expanded: new(atomic.Int64),
			anchors: names}
		docs, _ := c.parse(p.text)
		cut := len(t.broken) > before
		if cut && len(docs) == 0 && !t.full {
			docs = t.beginning(p, t.broken[before], names)
		}
		for i := range docs {
			if first {
				t.document(&docs[i])
			} else if t.header(&docs[i]) {
				t.all(&docs[i])
			}
		}
		if !cut {
			return
		}
		t.dropped = append(t.dropped, "")
		if first && (len(docs) == 0 || docs[0].get(keyDefaults) == nil) {
			t.defaults.badAgent = true // they may stand in what cannot be read
		}
		rest, ok := restOf(p, t.broken[before])
		if !ok || t.full || len(t.list) >= maxProblems {
			return
		}
		p, first = rest, false
	}
}

// restOf returns what is left of a document behind the item of its resources that cannot be read:
// the items that follow, as a document.
func restOf(p piece, at place) (piece, bool) {
	head, ok := resourcesLine(p.text)
	if !ok {
		return piece{}, false
	}
	item := itemOf(p.text[head:])
	from := lineStart(p.text, at.line-p.at.line)
	if item == nil || from < head {
		return piece{}, false
	}
	here := p.text[from:]
	if from == head || !bytes.HasPrefix(here, item) || !alone(here[:nextItem(here, item)]) {
		// That item is wrong by itself: with the next one. Otherwise what is open has been opened
		// before.
		next := nextItem(here, item)
		from, here = from+next, here[next:]
	}
	if !bytes.HasPrefix(here, item) {
		return piece{}, false
	}
	line := p.at.line + int32(bytes.Count(p.text[:from], newline)) // texts are bounded
	return asDocument(here, line), true
}

// alone reports whether an item can be read by itself.
func alone(text []byte) bool {
	_, ok := (&converter{report: &report{}, expanded: new(atomic.Int64),
		anchors: &anchors{lost: true}}).parse(text)
	return ok
}

// nextItem returns where the next item of a list starts, or where the list ends.
func nextItem(text, item []byte) int {
	at := 0
	for line := range bytes.Lines(text) {
		if at > 0 && (bytes.HasPrefix(line, item) ||
			!blankOrComment(bytes.TrimRight(line, "\n")) && indentOf(line) < len(item)-2) {
			return at
		}
		at += len(line)
	}
	return at
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

// maxCuts bounds how often a document is cut shorter until it can be read.
const maxCuts = 4

// beginning reads a document up to the line of a place where it cannot be read, or, when that is in
// the middle of something, up to an item of its resources that starts before. What ends there is
// marked as cut.
func (r *report) beginning(p piece, at place, names *anchors) []node {
	line := at.line - p.at.line // the one that cannot be read, from 0
	for n := range maxCuts {
		end := lineStart(p.text, line)
		if n > 0 {
			end = itemBefore(p.text[:lineStart(p.text, line+1)])
		}
		if end <= 0 {
			return nil
		}
		c := &converter{report: &report{file: r.file, budget: r.budget}, shift: p.at.line - 1,
			expanded: new(atomic.Int64), anchors: names}
		docs, _ := c.parse(p.text[:end])
		if len(c.broken) == 0 {
			if len(docs) == 1 {
				docs[0].end(n == 0 && itemBefore(p.text[:lineStart(p.text, line+1)]) != end)
			}
			r.take(c.report)
			return docs
		}
		// texts are bounded
		line = min(c.broken[0].line-p.at.line, int32(bytes.Count(p.text[:end], newline)))
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
	item := itemOf(text[head:])
	if item == nil {
		return 0
	}
	return max(bytes.LastIndex(text[:len(text)-1], append([]byte{'\n'}, item...)), head-1) + 1
}

// itemOf returns with what each item of a list starts; nil if there is none.
func itemOf(list []byte) []byte {
	for line := range bytes.Lines(list) {
		if !blankOrComment(bytes.TrimRight(line, "\n")) {
			return append(bytes.Repeat([]byte{' '}, indentOf(line)), "- "...)
		}
	}
	return nil
}

// end marks a document as one that goes on, with unread also all that its last values are in.
func (n *node) end(unread bool) {
	n.cut, n.bad = true, true
	for unread && len(n.items) > 0 {
		n = &n.items[len(n.items)-1]
		n.cut, n.bad = true, true
	}
}

// broken marks a list or a map as one that cannot be read to its end. What stands last may be meant
// to be more than the number or word that was read.
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
