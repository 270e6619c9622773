package git

import (
	"os"
	"path/filepath"
	"strings"
)

// gitlink is the mode of a submodule in a commit or in the index.
const gitlink = "160000"

// link is a submodule as a commit has it.
type link struct{ path, commit string }

// links returns the submodules of a commit, or of the index if that is "".
func (g *checkout) links(commit string) ([]link, error) {
	args := []string{"ls-files", "-s", "-z"}
	if commit != "" {
		args = []string{"ls-tree", "-r", "-z", commit}
	}
	out, err := g.ask(g.path, args...)
	if err != nil {
		return nil, err
	}
	var links []link
	for _, line := range fields(out) {
		about, name, _ := strings.Cut(line, "\t")
		words := strings.Fields(about)
		if len(words) == 3 && words[0] == gitlink {
			id := words[1]
			if commit != "" {
				id = words[2] // behind the kind of object
			}
			links = append(links, link{name, id})
		}
	}
	return links, nil
}

// submodule returns the checkout of a submodule, nil if it is not here.
func (g *change) submodule(l link) *change {
	at := filepath.Join(g.path, l.path)
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(at, ".git")); err != nil {
		return nil
	}
	sub := *g
	sub.path, sub.revision, sub.source, sub.extra = at, l.commit, "origin", nil
	return &sub
}
