package source

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"southbound/shared/resource"
)

// digest is a prefix of a SHA-256, long enough to distinguish values.
type digest [16]byte

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(sum[:len(digest{})])
}

// item holds the digests of one item of a list of resources.
type item struct {
	value digest
	frame digest // see taker.frame
}

// itemsOf holds the digests of a document file. They are known only if the file has no problems.
type itemsOf struct {
	known bool
	rest  digest // of everything but the items
	list  []item
	uses  []use
}

// use is a reference of an item to a file.
type use struct {
	item int
	file string // its path in the tree
}

// maxItems is the maximum number of items with kept digests in all documents, at 32 bytes each.
const maxItems = 1 << 20

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// append appends a form of a value without its places. Equal values have equal forms.
func (n *node) append(b []byte) []byte {
	b = append(appendText(b, n.key), byte(n.kind))
	if s, is := n.value.(string); is {
		b = appendText(append(b, 's'), s)
	} else {
		b = fmt.Appendf(b, "%T %v\n", n.value, n.value)
	}
	b = binary.AppendUvarint(b, uint64(len(n.items)))
	for i := range n.items {
		b = n.items[i].append(b)
	}
	return b
}

// frame returns a digest of those properties of an item's resources on which other resources
// depend: ids, sets and requirements, whether they are purged, and the files that they refer to. If
// an item changes without its frame, all other resources stay valid, unless types complete
// attributes.
func (t *taker) frame(made []resource.Resource, uses []string) digest {
	b := t.room[:0]
	for i := range made {
		r := &made[i]
		b = appendText(appendText(b, string(r.ID)), r.Set)
		b = append(b, '0')
		if r.Purged {
			b[len(b)-1] = '1'
		}
		for _, id := range r.Requires {
			b = appendText(b, string(id))
		}
		b = append(b, 0)
	}
	for _, path := range uses {
		b = appendText(b, path)
	}
	t.room = b
	return digestOf(b)
}

// noteItem records the digests of an item; its resources are those from number made on.
func (t *taker) noteItem(value digest, made int) {
	slices.Sort(t.uses)
	uses := slices.Compact(t.uses)
	for _, path := range uses {
		t.items.uses = append(t.items.uses, use{len(t.items.list), path})
	}
	frame := t.frame(t.part.resources[made:], uses)
	t.items.list = append(t.items.list, item{value, frame})
	t.ends = append(t.ends, len(t.part.resources))
}

// noteRest adds a document without its items to the digest of the rest of its file.
func (t *taker) noteRest(n *node) {
	b := append(t.room[:0], t.items.rest[:]...)
	for i := range n.items {
		if n.items[i].key != keyResources {
			b = n.items[i].append(b)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(t.items.list)))
	t.room = b
	t.items.rest = digestOf(b)
}

// noted returns the digests of a file that has been read.
func (t *taker) noted() itemsOf {
	n := len(t.items.list)
	if !t.clean() || len(t.dropped) > 0 || n == 0 || t.loader.items.Add(int64(n)) > maxItems {
		return itemsOf{}
	}
	out := t.items
	out.known = true
	return out
}
