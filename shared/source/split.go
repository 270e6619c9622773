package source

import (
	"bytes"
	"sync/atomic"
)

// The library reads about 24 MB/s of YAML on one core (measured: go.yaml.in/yaml v3 and v4 alike;
// github.com/goccy/go-yaml 9 MB/s). A long list of resources is therefore cut between its items,
// and the pieces are read at the same time. The language stays the library's:
//
//   - A cut is made only in front of a line that starts with the indentation of the list and "- ".
//     In block context such a line starts an item, because it ends everything that stands deeper,
//     block scalars included.
//   - The first such line that is not in block context stands within quotes or brackets. Up to it
//     the piece reads as the whole does, so it ends with something open, which is an error.
//   - After any error in any piece the pieces are read once more, in order, so that an alias finds
//     what stands in front of its piece. After an error in that, and if the text is not exactly one
//     document, the whole is read as one.
//
// TestSplitReadsAsWhole and FuzzYAML compare this with reading the text as one.

// outlineYAML cuts a text whose list of resources is long into pieces of about size bytes; false
// when it is short, or not of the form that can be cut.
func (r *report) outlineYAML(text []byte, size int) (outline, bool) {
	if len(text) < 2*size || hasOtherBreaks(text) {
		return outline{}, false
	}
	head, ok := resourcesLine(text)
	if !ok {
		return outline{}, false
	}
	// texts are bounded
	s := splitter{size: size, line: int32(bytes.Count(text[:head], newline)) + 1}
	first := s.line - 1
	rest, ok := s.cut(text[head:])
	if !ok {
		return outline{}, false
	}
	skeleton := append(append(make([]byte, 0, head+len(rest)), text[:head]...), rest...)
	o := outline{pieces: s.pieces, expanded: new(atomic.Int64), head: text[:head], tail: rest}
	c := converter{report: &report{budget: r.budget}, from: first, shift: s.line - 1 - first,
		expanded: o.expanded}
	docs, ok := c.parse(skeleton)
	if !ok || len(docs) != 1 || docs[0].kind != object {
		return outline{}, false
	}
	list := docs[0].get("resources")
	if list == nil || list.keyAt != (place{first, 1}) || !list.null() {
		return outline{}, false
	}
	o.root = docs[0]
	return o, true
}

// itemsYAML reads the items of a piece. It returns false if the piece cannot be read by itself. One
// that holds too much is reported.
func (o *outline) itemsYAML(r *report, p piece) ([]node, bool) {
	if r.budget.refuses(&report{}, place{}, p.text) {
		last := lastItem(p.text)
		// texts are bounded
		at := place{p.at.line + int32(bytes.Count(p.text[:last], newline)),
			int32(indentOf(p.text)) + 1}
		return nil, r.budget.refuses(r, at, p.text)
	}
	c := converter{report: &report{budget: r.budget}, shift: p.at.line - 1, expanded: o.expanded,
		anchors: o.anchors}
	docs, ok := c.parse(p.text)
	if !ok || len(docs) != 1 || docs[0].kind != list {
		return nil, false
	}
	return docs[0].items, true
}

func indentOf(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " ")) }

// lastItem returns where the last item of a piece starts: the one that makes it long, as a piece
// ends where it is long enough.
func lastItem(text []byte) int {
	item := append(append([]byte{'\n'}, text[:indentOf(text)]...), "- "...)
	return bytes.LastIndex(text, item) + 1
}

// before reads what stands in front of the pieces for what it names.
func (o *outline) before(b *budget) {
	b.again()
	o.expanded.Store(0)
	o.anchors = newAnchors(b)
	c := converter{report: &report{budget: b}, expanded: o.expanded, anchors: o.anchors}
	c.parse(o.head)
}

var newline = []byte{'\n'}

// hasOtherBreaks reports whether there are line breaks other than \n and \r\n: YAML counts them,
// and bytes.Count does not.
func hasOtherBreaks(text []byte) bool {
	if bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n")) {
		return true
	}
	for _, c := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(text, []byte(c)) {
			return true
		}
	}
	return false
}

// resourcesLine returns the text after the line "resources:".
func resourcesLine(text []byte) (end int, ok bool) {
	const name = "resources:"
	at := 0
	if !bytes.HasPrefix(text, []byte(name)) {
		if at = bytes.Index(text, []byte("\n"+name)) + 1; at == 0 {
			return 0, false
		}
	}
	line, _, ok := bytes.Cut(text[at+len(name):], newline)
	return at + len(name) + len(line) + 1, ok && blankOrComment(line)
}

func blankOrComment(line []byte) bool {
	t := bytes.TrimRight(bytes.TrimLeft(line, " "), "\r")
	return len(t) == 0 || t[0] == '#'
}

// splitter cuts the lines after "resources:" into pieces.
type splitter struct {
	size   int
	line   int32 // of the text that is left
	pieces []piece
}

// cut cuts off the items and returns the text after them.
func (s *splitter) cut(text []byte) (rest []byte, ok bool) {
	for { // skip what precedes the first item
		line, after, more := bytes.Cut(text, newline)
		if !more {
			return nil, false
		}
		if !blankOrComment(line) {
			break
		}
		text, s.line = after, s.line+1
	}
	indent := len(text) - len(bytes.TrimLeft(text, " "))
	item := append(bytes.Repeat([]byte{' '}, indent), "- "...)
	if !bytes.HasPrefix(text, item) {
		return nil, false
	}
	from, fromLine, i := 0, s.line, 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '\t':
			return nil, false
		case c != ' ' && c != '#' && c != '\n' && c != '\r' &&
			(indent > 0 || !startsItem(text[i:])):
			rest = text[i:]
			text = text[:i]
			continue
		case i-from >= s.size && bytes.HasPrefix(text[i:], item):
			s.pieces = append(s.pieces, piece{text[from:i], place{fromLine, 1}})
			from, fromLine = i, s.line
		}
		n := bytes.IndexByte(text[i:], '\n') + 1
		if n == 0 {
			n = len(text) - i
		}
		i, s.line = i+n, s.line+1
	}
	s.pieces = append(s.pieces, piece{text[from:], place{fromLine, 1}})
	return rest, true
}

func startsItem(text []byte) bool {
	return len(text) > 1 && text[0] == '-' && (text[1] == ' ' || text[1] == '\n' || text[1] == '\r')
}
