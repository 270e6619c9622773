package version

import (
	"bytes"
	"cmp"
	"slices"

	"southbound/shared/resource"
)

// Lines is the text of a chunk, of which only those lines are decoded that a search for a resource
// comes by.
type Lines struct {
	hash  string
	lines [][]byte // each with its end
}

// LinesOf returns the lines of the text of a chunk; hash is for an error.
func LinesOf(text []byte, hash string) *Lines {
	lines := make([][]byte, 0, bytes.Count(text, []byte("\n"))+1)
	return &Lines{hash, slices.AppendSeq(lines, bytes.Lines(text))}
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

// With returns the text of the chunk with more entries, of resources that it does not have.
func (l *Lines) With(more []Entry) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(l.size(more))
	from := 0
	for _, en := range slices.SortedFunc(slices.Values(more), compareEntries) {
		at, _, err := l.search(en.ID)
		if err != nil {
			return nil, err
		}
		for ; from < at; from++ {
			b.Write(l.lines[from])
		}
		en.write(&b)
	}
	for _, line := range l.lines[from:] {
		b.Write(line)
	}
	return b.Bytes(), nil
}

// size returns how many bytes the lines are with more entries.
func (l *Lines) size(more []Entry) int {
	n := 0
	for _, line := range l.lines {
		n += len(line)
	}
	for i := range more {
		n += len(more[i].Hash) + len(more[i].Body) + len("\t\n")
	}
	return n
}

func compareEntries(a, b Entry) int { return cmp.Compare(a.ID, b.ID) }
