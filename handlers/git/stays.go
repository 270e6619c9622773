package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/provider"
)

// mayMove rejects a move that would lose data. The commit is present.
func (g *change) mayMove(to target, have work) error {
	if g.local == "discard" {
		return nil
	}
	if len(have.changed) > 0 && g.local == "refuse" {
		return provider.Errorf(provider.NeedsChange,
			"files of the checkout were changed and not committed: %s; commit, save or restore "+
				"them, or set local", named(have.changed))
	}
	for _, check := range []func(target, work) error{g.changesStay, g.branchStays, g.headStays,
		g.filesStay} {
		if err := check(to, have); err != nil {
			return err
		}
	}
	return nil
}

// changesStay rejects a commit that has another content for changed files. Git also refuses to move
// while a merge has unresolved conflicts.
func (g *change) changesStay(to target, have work) error {
	if len(have.changed) == 0 {
		return nil
	}
	if len(have.unmerged) > 0 {
		return provider.Errorf(provider.NeedsChange,
			"a merge has left conflicts in %s; resolve and commit them, or set local to discard",
			named(have.unmerged))
	}
	touched, err := g.touched(to)
	if err != nil {
		return err
	}
	var lost []string
	for _, name := range have.changed {
		if touched.takes(name) {
			lost = append(lost, name)
		}
	}
	if lost == nil {
		return nil
	}
	return provider.Errorf(provider.NeedsChange,
		"changed files would be overwritten: %s; commit, save or restore them, or set local to "+
			"discard", named(lost))
}

// touched returns the files in which a commit differs from HEAD.
func (g *checkout) touched(to target) (contents, error) {
	t := newContents()
	commit, _, err := g.head()
	if err != nil {
		return t, err
	}
	if commit == "" {
		return g.contents(to.commit)
	}
	out, err := g.ask(g.path, "diff-tree", "-r", "-z", "--name-only", "--no-renames", commit,
		to.commit)
	for _, name := range fields(out) {
		t.files[name] = true
		t.above(name)
	}
	return t, err
}

// branchStays rejects a reset of a branch with commits that no remote had.
func (g *change) branchStays(to target, _ work) error {
	if to.branch == "" {
		return nil
	}
	here, err := g.ask(g.path, "rev-parse", "--verify", "-q", "refs/heads/"+to.branch)
	var f *failure
	if errors.As(err, &f) { // no such branch here
		return nil
	}
	if here = strings.TrimSpace(here); err != nil || here == to.commit {
		return err
	}
	mine, err := g.beyond(here, to.commit)
	if err != nil || !mine {
		return err
	}
	return provider.Errorf(provider.NeedsChange,
		"the branch %s has commits here that the remote has not; push them, or set local to discard",
		to.branch)
}

// headStays rejects a move that would leave commits without a branch.
func (g *change) headStays(to target, _ work) error {
	commit, branch, err := g.head()
	if err != nil || commit == "" || branch != "" || commit == to.commit {
		return err
	}
	mine, err := g.beyond(commit, to.commit, "--branches", "--tags")
	if err != nil || !mine {
		return err
	}
	return provider.Errorf(provider.NeedsChange,
		"the commit %.12s is on no branch and the remote has it not; push it, make a branch of it, "+
			"or set local to discard", commit)
}

// beyond reports whether a commit has objects that neither a remote had nor the others have.
func (g *checkout) beyond(commit string, others ...string) (bool, error) {
	known, err := g.known(g.path)
	if err != nil {
		return false, err
	}
	var in strings.Builder
	in.WriteString(commit + "\n")
	for _, id := range known {
		in.WriteString("^" + id + "\n")
	}
	args := []string{"rev-list", "--max-count=1", "--ignore-missing", "--stdin", "--not"}
	out, err := g.feed(g.path, in.String(), append(args, others...)...)
	return out != "", err
}

// filesStay rejects a commit that has entries at the paths of files unknown to git. Git overwrites
// some of them: ignored files, and the content of a submodule.
func (g *change) filesStay(to target, have work) error {
	if len(have.other) == 0 {
		if links, err := g.links(""); err != nil || len(links) == 0 {
			return err
		}
	}
	in, err := g.contents(to.commit)
	if err != nil {
		return err
	}
	var lost []string
	for _, name := range have.other {
		if in.takes(name) {
			lost = append(lost, name)
		}
	}
	links, err := g.links("")
	if err != nil {
		return err
	}
	for _, l := range links {
		names, err := os.ReadDir(filepath.Join(g.path, l.path))
		if err == nil && len(names) > 0 && in.takes(l.path+"/") {
			lost = append(lost, l.path+"/")
		}
	}
	if lost == nil {
		return nil
	}
	return provider.Errorf(provider.NeedsChange,
		"files that are not committed would be overwritten: %s; move them away, or set local to "+
			"discard", named(lost))
}

// contents are the contents of a commit: names of files, of submodules, and of the directories
// above them.
type contents struct{ files, links, dirs map[string]bool }

func newContents() contents {
	return contents{map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

func (g *checkout) contents(commit string) (contents, error) {
	t := newContents()
	files, err := g.entries(commit)
	if err != nil {
		return t, err
	}
	for name, e := range files {
		if e.mode == gitlink {
			t.links[name] = true
		} else {
			t.files[name] = true
		}
		t.above(name)
	}
	return t, nil
}

// above adds the parent directories of a name.
func (t contents) above(name string) {
	for dir := filepath.Dir(name); dir != "." && !t.dirs[dir]; dir = filepath.Dir(dir) {
		t.dirs[dir] = true
	}
}

// takes reports whether the tree has an entry at the path of a file, or of a directory with a
// repository, whose name ends with a slash.
func (t contents) takes(name string) bool {
	name, isDir := strings.CutSuffix(name, "/")
	if t.files[name] || t.dirs[name] || t.links[name] && !isDir {
		return true
	}
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if t.files[dir] { // a submodule may contain any files
			return true
		}
	}
	return false
}
