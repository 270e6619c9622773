package source

import (
	"bytes"
	"sync/atomic"
)

// outline is a document whose list of resources, if it is long, has not been read yet but cut into pieces that can be read in parallel.
type outline struct {
	root     node
	pieces   []piece       // of the list of resources; nil: the list is in root
	expanded *atomic.Int64 // see converter
}

// piece is the text of some consecutive items of the list of resources.
type piece struct {
	text []byte
	at   place // of its first byte
}

// outlineJSON reads a document except for its resources. Their text is checked and cut into pieces of about size bytes.
func (r *report) outlineJSON(text []byte, at place, size int) (outline, bool) {
	j := r.newJSON(text, at)
	var out outline
	k, start := j.next()
	if k != '{' {
		n, err := j.value(0)
		if err == nil {
			err = j.end()
		}
		return outline{root: n}, err == nil
	}
	out.root = node{at: start, kind: object}
	if _, err := j.dec.ReadToken(); err != nil {
		return out, false
	}
	var seen map[string]int
	for {
		name, at, err := j.name()
		if err != nil {
			return out, false
		}
		if name == nil {
			return out, j.end() == nil
		}
		var m node
		if k, start := j.next(); *name == "resources" && k == '[' && out.pieces == nil {
			m = node{at: start, kind: list}
			out.pieces, err = j.cut(size)
		} else {
			m, err = j.value(1)
		}
		if err != nil {
			return out, false
		}
		m.key, m.keyAt = *name, at
		out.root.items, seen = j.append(out.root.items, seen, m)
	}
}

// cut skips a list and returns its items in pieces.
func (j *jsonReader) cut(size int) ([]piece, error) {
	if _, err := j.dec.ReadToken(); err != nil {
		return nil, j.fail(err)
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
				return pieces, err
			}
			_, start = j.next()
			from, open = j.seen, true
		}
		if err := j.dec.SkipValue(); err != nil {
			return nil, j.fail(err)
		}
		if int(j.dec.InputOffset())-from >= size {
			pieces = append(pieces, piece{j.text[from:j.dec.InputOffset()], start})
			open = false
		}
	}
}

// itemsJSON reads the items of a piece.
func (r *report) itemsJSON(p piece) ([]node, bool) {
	text := bytes.Join([][]byte{{'['}, p.text, {']'}}, nil)
	at := p.at
	at.column--
	j := r.newJSON(text, at)
	n, err := j.value(1)
	return n.items, err == nil
}
