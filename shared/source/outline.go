package source

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// outline is a document whose list of resources, if it is long, has not been read yet but cut into
// pieces that can be read in parallel.
type outline struct {
	root     node
	last     []*node       // items that could not be read to their end
	pieces   []piece       // of the list of resources; nil: the list is in root
	expanded *atomic.Int64 // see converter; nil: it is JSON
	anchors  *anchors      // of what was read before, if that counts
	head     []byte        // the text in front of the pieces
	tail     []byte        // the text behind them
}

// piece is the text of some consecutive items of the list of resources.
type piece struct {
	text []byte
	at   place // of its first byte
}

// items reads the items of a piece. It returns false if the piece cannot be read by itself.
func (o *outline) items(r *report, p piece) ([]node, bool) {
	if o.expanded == nil {
		return r.itemsJSON(p)
	}
	return o.itemsYAML(r, p)
}

// outlineJSON reads a document except for its resources. Their text is checked and cut into pieces
// of about size bytes.
func (r *report) outlineJSON(text []byte, at place, size int) (outline, bool) {
	j := r.newJSON(text, at)
	var out outline
	k, start := j.next()
	if k != '{' {
		n, err := j.value(0)
		if err == nil {
			err = j.end()
		}
		n.cut, n.bad = err != nil, n.bad || err != nil
		return outline{root: n}, err == nil
	}
	out.root = node{at: start, kind: object}
	if err := j.members(&out, size); err != nil {
		out.root.broken()
		return out, false
	}
	return out, true
}

// members reads the members of a document.
func (j *jsonReader) members(out *outline, size int) error {
	if _, err := j.dec.ReadToken(); err != nil {
		return err
	}
	var seen map[string]int
	for {
		name, at, err := j.name()
		if err != nil {
			return err
		}
		if name == nil {
			return j.end()
		}
		var m node
		if k, start := j.next(); *name == keyResources && k == '[' && out.pieces == nil {
			m = node{at: start, kind: list}
			out.head = j.text[:j.seen]
			out.pieces, out.last, err = j.cut(size)
			out.tail = j.text[j.dec.InputOffset():]
		} else {
			m, err = j.value(1)
		}
		if err == nil || m.kind != scalar {
			m.key, m.keyAt = *name, at
			out.root.items, seen = j.append(out.root.items, seen, m)
		}
		if err != nil {
			return err
		}
	}
}

// cut skips a list and returns its items in pieces. Items that cannot be read to their end are
// returned as far as they can; behind them it goes on where the next item starts, if that can be
// told.
func (j *jsonReader) cut(size int) ([]piece, []*node, error) {
	pieces, last, err := j.cutUntil(size)
	if err == nil || j.full {
		return pieces, last, err
	}
	sub := j
	text := slices.Clone(j.text)
	for len(j.report.list) < maxProblems {
		next, ok := sub.resume()
		if !ok {
			break
		}
		// The item is made the first one of a list of its own.
		at := place{sub.at.line, sub.at.column}.after(sub.text[sub.seen:next])
		at.column--
		text = text[next-1:]
		text[0] = '['
		sub = j.newJSON(text, at)
		sub.starts = j.starts
		more, cut, failed := sub.cutUntil(size)
		pieces, last = append(pieces, more...), append(last, cut...)
		if failed == nil {
			break
		}
	}
	return pieces, last, err
}

// resume returns where the item behind the place of a syntax error starts: on a line of its own, as
// the first item did.
func (j *jsonReader) resume() (int, bool) {
	if j.starts == "" {
		return 0, false
	}
	at := bytes.Index(j.text[j.seen:], []byte(j.starts))
	if at < 0 {
		return 0, false
	}
	return j.seen + at + len(j.starts) - 1, true
}

// startsOf returns what stands before each item of a list, if each stands on a line of its own: the
// indentation, and the bracket of the item.
func startsOf(text []byte, at int) string {
	line := bytes.LastIndexByte(text[:at], '\n')
	if line < 0 || text[at] != '{' || len(bytes.Trim(text[line:at], jsonBlanks)) > 0 {
		return ""
	}
	return string(text[line : at+1])
}

// cutUntil is cut up to the first item that cannot be read to its end.
func (j *jsonReader) cutUntil(size int) ([]piece, []*node, error) {
	if _, err := j.dec.ReadToken(); err != nil {
		return nil, nil, j.fail(err)
	}
	pieces := []piece{}
	open := false
	from, start := 0, place{}
	for {
		k := j.dec.PeekKind()
		if k == ']' || !open {
			if open {
				pieces = append(pieces, piece{j.text[from:j.dec.InputOffset()], start})
			}
			if k == ']' {
				_, err := j.dec.ReadToken()
				return pieces, nil, err
			}
			k, start = j.next()
			from, open = j.seen, true
			if k == jsontext.KindInvalid {
				from = int(j.dec.InputOffset()) // nothing is there to begin with
			} else if j.starts == "" && len(pieces) == 0 {
				j.starts = startsOf(j.text, from)
			}
		}
		before := int(j.dec.InputOffset())
		if err := j.dec.SkipValue(); err != nil {
			if before > from {
				pieces = append(pieces, piece{j.text[from:before], start})
			}
			var last []*node
			if n := j.item(before); n != nil {
				last = []*node{n}
			}
			return pieces, last, j.fail(err)
		}
		if int(j.dec.InputOffset())-from >= size {
			pieces = append(pieces, piece{j.text[from:j.dec.InputOffset()], start})
			open = false
		}
	}
}

// item reads an item from an offset on that cannot be read to its end, as far as it can; nil if
// that is nowhere.
func (j *jsonReader) item(offset int) *node {
	rest := bytes.TrimLeft(j.text[offset:], jsonBlanks+",")
	at := place{j.at.line, j.at.column}
	at = at.after(j.text[min(j.seen, len(j.text)-len(rest)) : len(j.text)-len(rest)])
	again := (&report{file: j.file, budget: j.budget}).newJSON(rest, at)
	n, err := again.value(2)
	j.take(again.report)
	if err == nil || n.kind != object {
		return nil
	}
	return &n
}

// itemsJSON reads the items of a piece.
func (r *report) itemsJSON(p piece) ([]node, bool) {
	text := bytes.Join([][]byte{{'['}, p.text, {']'}}, nil)
	at := p.at
	at.column--
	j := r.newJSON(text, at)
	n, err := j.value(1)
	if j.full {
		return nil, true
	}
	return n.items, err == nil
}
