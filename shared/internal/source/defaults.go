package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// readProjects reads the defaults in the project file of the tree, which a document can override.
// The results hold problems and no resources.
func (l *loader) readProjects(ctx context.Context) []result {
	out := make([]result, 0, len(l.tree.projects))
	for _, d := range l.tree.projects {
		r := newProjectReader(d.name)
		one := result{part: r.part}
		if text, err := l.tree.readUntil(ctx, d); err != nil {
			r.unreadable(err)
		} else {
			sum := sha256.Sum256(text)
			one.size, one.hash = int64(len(text)), hex.EncodeToString(sum[:])
			r.read(text, &Project{})
			l.defaults = r.defaults
		}
		out = append(out, one)
	}
	return out
}
