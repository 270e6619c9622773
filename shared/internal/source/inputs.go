package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Inputs records the files that a Load has read: names, hashes and, with Options.Note, digests of
// the items of documents. It holds no text. A later process finds the changes with Changes. See
// docs/design/export.md.
type Inputs struct {
	Documents []Input
	Files     []Input // referenced by the documents
	// Projects are the project files, whose defaults apply to the documents.
	Projects []Input
	items    []itemsOf // of each document
}

// Input is one file.
type Input struct {
	Path string // in the exported directory, with slashes
	Size int64
	hash string
}

// inputs returns the record of the files that were read.
func (l *loader) inputs(read, projects []result) Inputs {
	var in Inputs
	for i, d := range l.tree.projects {
		in.Projects = append(in.Projects, Input{d.path, projects[i].size, projects[i].hash})
	}
	for _, p := range slices.Sorted(maps.Keys(l.files.byPath)) {
		f := l.files.byPath[p]
		in.Files = append(in.Files, Input{p, f.size, f.hash})
	}
	in.items = make([]itemsOf, len(l.tree.docs))
	for i, d := range l.tree.docs {
		in.Documents = append(in.Documents, Input{d.path, read[i].size, read[i].hash})
		in.items[i] = read[i].part.items
	}
	return in
}

// digest returns the fingerprint of inputs with known hashes: SHA-256 over the format, and the
// path, size and hash of each input.
func (in *Inputs) digest() string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, "southbound inputs 1")
	for i, list := range [][]Input{in.Documents, in.Files, in.Projects} {
		for _, f := range list {
			_, _ = fmt.Fprintf(h, "%c %q %d %s\n", "dfp"[i], f.Path, f.Size, f.hash)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
