package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/provider"
)

// hiddenFiles returns the files whose changes the index hides. A missing file with skip-worktree is
// excluded by a sparse checkout.
func (g *checkout) hiddenFiles() ([]string, error) {
	out, err := g.ask(g.path, "ls-files", "-v", "-z")
	var hidden []string
	for _, line := range fields(out) {
		if len(line) < 3 {
			continue
		}
		tag, name := line[0], line[2:]
		skipped := tag == 'S' || tag == 's'
		if !skipped && (tag < 'a' || tag > 'z') {
			continue
		}
		if _, err := os.Lstat(filepath.Join(g.path, name)); err == nil || !skipped {
			hidden = append(hidden, name)
		}
	}
	return hidden, err
}

// unhide makes the index show changes of files again.
func (g *checkout) unhide(hidden []string) error {
	for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if _, err := g.feed(g.path, strings.Join(hidden, "\x00")+"\x00", "update-index", flag,
			"-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// status runs git status over an index that does not hide changes of files.
func (g *checkout) status(hidden []string) (string, error) {
	bared, remove, err := g.bared(hidden)
	if err != nil {
		return "", err
	}
	defer remove()
	return bared.ask(g.path, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
		"--ignored=traditional", "--ignore-submodules=all")
}

// bared returns the checkout with a copy of the index that does not hide changes of files.
func (g *checkout) bared(hidden []string) (_ *checkout, remove func(), err error) {
	if len(hidden) == 0 {
		return g, func() {}, nil
	}
	index, err := g.indexPath()
	if err != nil {
		return nil, nil, err
	}
	dir, remove, err := g.temporary()
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(index)
	if err == nil {
		err = g.give(dir, "index", data)
	}
	bared := *g
	bared.extra = append(slices.Clone(bared.extra),
		"GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	if err != nil {
		err = provider.Errorf(provider.Retryable, "copy the index: %w", err)
	} else {
		err = bared.unhide(hidden)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return &bared, remove, nil
}

func (g *checkout) indexPath() (string, error) {
	index, err := g.ask(g.path, "rev-parse", "--git-path", "index")
	if index = strings.TrimSuffix(index, "\n"); !filepath.IsAbs(index) {
		index = filepath.Join(g.path, index)
	}
	return index, err
}

// stagedLinks returns submodules whose entries in the index differ from HEAD, as lines of git
// status, which omits submodules.
func (g *checkout) stagedLinks() ([]string, error) {
	out, err := g.ask(g.path, "diff-index", "--cached", "--raw", "-z", "--no-renames",
		"--ignore-submodules=none", "HEAD")
	var f *failure
	if errors.As(err, &f) { // there is no commit yet
		return nil, nil
	}
	var staged []string
	for pair := range slices.Chunk(fields(out), 2) {
		modes := strings.Fields(strings.TrimPrefix(pair[0], ":"))
		if len(pair) == 2 && len(modes) == 5 && slices.Contains(modes[:2], gitlink) {
			staged = append(staged, modes[4]+"  "+pair[1])
		}
	}
	return staged, err
}

// temporary makes a directory for git's output, which the caller removes.
func (g *client) temporary() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "southbound-git-")
	if err == nil && g.who != nil {
		err = os.Lchown(dir, int(g.who.Uid), int(g.who.Gid))
	}
	if err != nil {
		return "", nil, provider.Errorf(provider.Retryable, "make a directory for git: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// give writes a file in a directory of temporary, for the user git runs as.
func (g *client) give(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil || g.who == nil {
		return err
	}
	return os.Lchown(path, int(g.who.Uid), int(g.who.Gid))
}
