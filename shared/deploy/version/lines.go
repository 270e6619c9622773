package version

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"

	"southbound/shared/resource"
)

// Lines is the text of a chunk. A search for a resource decodes only the lines that it visits.
type Lines struct {
	hash  string
	lines [][]byte // each with its end
}

// LinesOf returns the lines of the text of a chunk; hash is for an error.
func LinesOf(text []byte, hash string) *Lines {
	lines := make([][]byte, 0, bytes.Count(text, []byte("\n"))+1)
	return &Lines{hash, slices.AppendSeq(lines, bytes.Lines(text))}
}

// Sum returns the SHA-256 of the text.
func (l *Lines) Sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, line := range l.lines {
		h.Write(line)
	}
	h.Sum(sum[:0])
	return sum
}

// Find returns the entry of a resource, nil if there is none.
func (l *Lines) Find(id resource.ID) (*Entry, error) {
	at, found, err := l.search(id)
	if err != nil || !found {
		return nil, err
	}
	en, err := parseLine(l.lines[at], l.hash)
	return &en, err
}

// search returns where the line of a resource is, or would be.
func (l *Lines) search(id resource.ID) (at int, found bool, err error) {
	at, found = slices.BinarySearchFunc(l.lines, id, func(line []byte, id resource.ID) int {
		en, wrong := parseLine(line, l.hash)
		err = cmp.Or(err, wrong)
		return cmp.Compare(en.ID, id)
	})
	return at, found, err
}

// edit returns the text of the chunk without the resources of gone, and with put: new entries, and
// replacements of entries with the same ids.
func (l *Lines) edit(gone []resource.ID, put []Entry) ([]byte, error) {
	all := slices.Clone(put)
	for _, id := range gone {
		all = append(all, Entry{ID: id})
	}
	slices.SortFunc(all, compareEntries)
	var b bytes.Buffer
	b.Grow(l.size(put))
	from := 0
	for _, en := range all {
		at, found, err := l.search(en.ID)
		if err != nil {
			return nil, err
		}
		for ; from < at; from++ {
			b.Write(l.lines[from])
		}
		if found {
			from++
		}
		if en.Body != nil {
			en.write(&b)
		}
	}
	for _, line := range l.lines[from:] {
		b.Write(line)
	}
	return b.Bytes(), nil
}

// OfSet returns the entries of the resources of a named set, and these resources, in the order of
// the chunk.
func (l *Lines) OfSet(set string) ([]Entry, []*resource.Resource, error) {
	text, err := resource.CanonicalValue(set)
	if err != nil {
		return nil, nil, nil // no set has such a name
	}
	member := append([]byte(`"set":`), text...)
	var entries []Entry
	var resources []*resource.Resource
	for _, line := range l.lines {
		if !bytes.Contains(line, member) {
			continue
		}
		en, err := parseLine(line, l.hash)
		if err != nil {
			return nil, nil, err
		}
		r, err := resource.Decode(en.Body)
		if err != nil {
			return nil, nil, DamagedChunk(l.hash)
		}
		if r.Set == set { // otherwise an attribute contains such a text
			entries, resources = append(entries, en), append(resources, r)
		}
	}
	return entries, resources, nil
}

// size returns the maximum size in bytes of the lines with more entries.
func (l *Lines) size(more []Entry) int {
	n := 0
	for _, line := range l.lines {
		n += len(line)
	}
	for i := range more {
		n += more[i].size()
	}
	return n
}

func compareEntries(a, b Entry) int { return cmp.Compare(a.ID, b.ID) }
