package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
)

// Inputs are the names of the files that a Load has read. A later process can store and use them: with them, Fingerprint tells without parsing
// whether anything has changed.
type Inputs struct {
	Documents []Input `json:"documents"`
	Files     []Input `json:"files,omitempty"` // that the documents refer to
	// Projects are the project files, whose defaults the documents may have.
	Projects []Input `json:"projects,omitempty"`
}

// Input is one file.
type Input struct {
	Path string `json:"path"` // in the directory that is exported, with slashes
	Size int64  `json:"size"`
	hash string
}

// inputs returns the names of the files that were read.
func (l *loader) inputs(read, projects []result) Inputs {
	var in Inputs
	for i, d := range l.tree.projects {
		in.Projects = append(in.Projects, Input{d.path, projects[i].size, projects[i].hash})
	}
	for i, d := range l.tree.docs {
		in.Documents = append(in.Documents, Input{d.path, read[i].size, read[i].hash})
	}
	for _, p := range slices.Sorted(maps.Keys(l.files.byPath)) {
		f := l.files.byPath[p]
		in.Files = append(in.Files, Input{p, f.size, f.hash})
	}
	return in
}

// digest returns the fingerprint of inputs whose hashes are known: SHA-256 over the format, and path, size and hash of each.
func (in Inputs) digest() string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, "southbound inputs 1")
	for i, list := range [][]Input{in.Documents, in.Files, in.Projects} {
		for _, f := range list {
			_, _ = fmt.Fprintf(h, "%c %q %d %s\n", "dfp"[i], f.Path, f.Size, f.hash)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Fingerprint returns what Load would give as Model.Fingerprint, from the bytes alone; false when it would read other files, when
// one has another size or cannot be read, and for what can be read only once, such as standard input and pipes.
func (in Inputs) Fingerprint(opts Options) (string, bool) {
	if info, err := os.Stat(opts.Path); opts.Path == "-" || err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return "", false
	}
	t, err := openTree(opts)
	if err != nil {
		return "", false
	}
	defer t.close()
	path := func(d document, f Input) bool { return d.path == f.Path }
	same := slices.EqualFunc(t.docs, in.Documents, path) && slices.EqualFunc(t.projects, in.Projects, path)
	now := Inputs{slices.Clone(in.Documents), slices.Clone(in.Files), slices.Clone(in.Projects)}
	if !same || !now.hash(t) {
		return "", false
	}
	return now.digest(), true
}

// hash reads all inputs again and fills in their hashes. It returns false if the size of one has changed.
func (in Inputs) hash(t *tree) bool {
	docs := slices.Concat(t.docs, t.projects)
	inputs := make([]*Input, 0, len(docs)+len(in.Files))
	for _, of := range [][]Input{in.Documents, in.Projects, in.Files} {
		for i := range of {
			inputs = append(inputs, &of[i])
		}
	}
	ok := make([]bool, len(inputs))
	files := newFiles(t)
	files.room = 0
	parallel(len(ok), func(i int) {
		f := inputs[i]
		if i < len(docs) {
			text, err := t.read(docs[i])
			sum := sha256.Sum256(text)
			f.hash = hex.EncodeToString(sum[:])
			ok[i] = err == nil && int64(len(text)) == f.Size
			return
		}
		e := &file{}
		files.read(e, f.Path)
		f.hash = e.hash
		ok[i] = e.err == nil && e.size == f.Size
	})
	return !slices.Contains(ok, false)
}
