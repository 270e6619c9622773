package source

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"southbound/shared/resource"
)

// digest is the beginning of a SHA-256: enough to tell texts apart.
type digest [16]byte

func digestOf(text ...[]byte) digest {
	h := sha256.New()
	for _, t := range text {
		h.Write(binary.AppendUvarint(nil, uint64(len(t))))
		h.Write(t)
	}
	return digest(h.Sum(nil)[:len(digest{})])
}

// item is what is noted of one item of a list of resources.
type item struct {
	text  digest
	frame digest // of what it means to others: see taker.frame
}

// itemsOf is what is noted of a document, if each item of its list of resources can be read by
// itself.
type itemsOf struct {
	known bool
	rest  digest // of the text without the items
	list  []item
	uses  []use
}

// use says that an item refers to a file.
type use struct {
	item int
	file string // its path in the tree
}

// noted is what was noted of an item when it was read.
type noted struct {
	line  int32 // on which it starts
	frame digest
	uses  []string
}

// maxItems is how many items are noted of all documents, at 32 bytes each.
const maxItems = 1 << 20

// frame returns a digest of what the resources that an item has made are to others: which they are,
// what they require, and the files that they refer to. An item with another text and the same frame
// leaves everything else as it is, unless types make more of attributes.
func (t *taker) frame(made []resource.Resource, uses []string) digest {
	b := t.room[:0]
	text := func(s string) {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	for i := range made {
		r := &made[i]
		text(string(r.ID))
		text(r.Set)
		b = append(b, '0')
		if r.Purged {
			b[len(b)-1] = '1'
		}
		for _, id := range r.Requires {
			text(string(id))
		}
		b = append(b, 0)
	}
	for _, path := range uses {
		text(path)
	}
	t.room = b
	return digestOf(b)
}

// noteItem notes the item that was read last; made are its resources.
func (t *taker) noteItem(line int32, made []resource.Resource) {
	slices.Sort(t.uses)
	uses := slices.Clone(slices.Compact(t.uses))
	t.noted = append(t.noted, noted{line, t.frame(made, uses), uses})
	t.uses = t.uses[:0]
}

// isJSON reports whether a document is read as JSON; text is what it holds.
func (d document) isJSON(text []byte) bool { return d.format == formatJSON || isJSON(text) }

// units cuts a text into the items of its list of resources, each a piece by itself, and returns a
// digest of the rest.
func (r *report) units(d document, text []byte) (outline, digest, bool) {
	if d.isJSON(text) {
		return r.unitsJSON(text)
	}
	return r.unitsYAML(r.directive(text))
}

// unitsJSON is units for JSON. What stands between two items means nothing there.
func (r *report) unitsJSON(text []byte) (outline, digest, bool) {
	o, ok := r.outlineJSON(text, place{1, 1}, 1)
	if !ok || o.pieces == nil {
		return outline{}, digest{}, false
	}
	return o, digestOf([]byte("JSON"), o.head, o.tail), true
}

// unitsYAML is units for YAML.
func (r *report) unitsYAML(text []byte) (outline, digest, bool) {
	o, ok := r.outlineYAML(text, 1)
	if !ok || o.expanded.Load() > 0 {
		return outline{}, digest{}, false
	}
	return o, digestOf(o.head, o.tail), true
}

// digests returns those of the texts of pieces.
func digests(pieces []piece) []digest {
	out := make([]digest, len(pieces))
	const step = 256
	parallel((len(pieces)+step-1)/step, func(k int) {
		for i := k * step; i < min(len(pieces), (k+1)*step); i++ {
			out[i] = digestOf(pieces[i].text)
		}
	})
	return out
}

// itemsIn returns what is noted of a document that was read in parts without a problem; text is
// what it holds. Nothing is known of one in which an item may need another one, or where an
// item may start elsewhere than where the text is cut.
func (l *loader) itemsIn(d document, parts []*part, text []byte) itemsOf {
	var all []noted
	for _, p := range parts {
		if !p.clean() || p.aliased || p.full || len(p.dropped) > 0 {
			return itemsOf{}
		}
		all = append(all, p.noted...)
	}
	if !l.note || len(all) == 0 || l.items.Add(int64(len(all))) > maxItems {
		return itemsOf{}
	}
	o, rest, ok := (&report{}).units(d, text)
	if !ok || len(o.pieces) != len(all) {
		return itemsOf{}
	}
	out := itemsOf{known: true, rest: rest, list: make([]item, len(all))}
	sums := digests(o.pieces)
	for i, n := range all {
		if o.pieces[i].at.line != n.line {
			return itemsOf{}
		}
		out.list[i] = item{sums[i], n.frame}
		for _, path := range n.uses {
			out.uses = append(out.uses, use{i, path})
		}
	}
	return out
}
