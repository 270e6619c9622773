package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// work is what people have done in a working tree.
type work struct {
	changed []string        // tracked files, except those in moved
	other   []string        // untracked and ignored ones; a directory with a repository ends with /
	ours    bool            // a move was cut off
	moved   map[string]bool // which it may have changed
}

// work reads it. Changes that the index hides (git update-index --assume-unchanged and
// --skip-worktree) are changes.
func (g *checkout) work() (work, error) {
	var w work
	var err error
	if w.ours, err = g.succeeds(g.path, "rev-parse", "--verify", "-q", moving); err != nil {
		return w, err
	}
	if w.ours {
		out, err := g.ask(g.path, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "HEAD",
			moving)
		var f *failure
		if err != nil && !errors.As(err, &f) { // before the first commit all is our own doing
			return w, err
		}
		if w.moved = map[string]bool{}; f != nil {
			w.moved = nil
		}
		for _, name := range fields(out) {
			w.moved[name] = true
		}
	}
	out, err := g.status()
	if err != nil {
		return w, err
	}
	for _, line := range fields(out) {
		if len(line) < 4 {
			continue
		}
		name := line[3:]
		switch mine := w.ours && (w.moved == nil || w.moved[name]); {
		case mine:
		case line[:2] == "??" || line[:2] == "!!":
			w.other = append(w.other, name)
		default:
			w.changed = append(w.changed, name)
		}
	}
	return w, nil
}

// status runs git status over a copy of the index that hides nothing.
func (g *checkout) status() (string, error) {
	args := []string{"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
		"--ignored=traditional", "--ignore-submodules=all"}
	out, err := g.ask(g.path, "ls-files", "-v", "-z")
	if err != nil {
		return "", err
	}
	var shown strings.Builder
	for _, line := range fields(out) {
		if len(line) < 3 || line[0] != 'S' && (line[0] < 'a' || line[0] > 'z') {
			continue
		}
		if _, err := os.Lstat(filepath.Join(g.path, line[2:])); err == nil {
			shown.WriteString(line[2:] + "\x00") // else it is left out of a sparse checkout
		}
	}
	if shown.Len() == 0 {
		return g.ask(g.path, args...)
	}
	index, err := g.ask(g.path, "rev-parse", "--git-path", "index")
	if err != nil {
		return "", err
	}
	if index = strings.TrimSuffix(index, "\n"); !filepath.IsAbs(index) {
		index = filepath.Join(g.path, index)
	}
	dir, remove, err := g.temporary()
	if err != nil {
		return "", err
	}
	defer remove()
	data, err := os.ReadFile(index)
	if err == nil {
		err = g.give(dir, "index", data)
	}
	if err != nil {
		return "", provider.Errorf(provider.Retryable, "copy the index: %w", err)
	}
	bared := *g
	bared.extra = append(bared.extra, "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if _, err := bared.feed(g.path, shown.String(), "update-index", flag, "-z",
			"--stdin"); err != nil {
			return "", err
		}
	}
	return bared.ask(g.path, args...)
}

// temporary makes a directory for git to write in, which the caller removes.
func (g *runner) temporary() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "southbound-git-")
	if err == nil && g.who != nil {
		err = os.Lchown(dir, int(g.who.Uid), int(g.who.Gid))
	}
	if err != nil {
		return "", nil, provider.Errorf(provider.Retryable, "make a directory for git: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// give writes a file in a directory of temporary, for who git runs as.
func (g *runner) give(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil || g.who == nil {
		return err
	}
	return os.Lchown(path, int(g.who.Uid), int(g.who.Gid))
}

// mayMove refuses to move over what would be lost. The commit is here.
func (g *change) mayMove(to target, have work) error {
	if g.local == "discard" {
		return nil
	}
	if len(have.changed) > 0 && g.local == "refuse" {
		return provider.Errorf(provider.NeedsChange,
			"files of the checkout were changed and not committed: %s; commit, save or restore "+
				"them, or set local", named(have.changed))
	}
	for _, check := range []func(target, work) error{g.branchStays, g.headStays, g.filesStay} {
		if err := check(to, have); err != nil {
			return err
		}
	}
	return nil
}

// branchStays refuses to reset a branch that has commits which no remote had.
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

// headStays refuses to leave commits that are on no branch.
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

// beyond reports whether a commit has something that neither a remote had nor others have.
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

// filesStay refuses a commit that has something where there are files that git does not know. Git
// overwrites some of them: those that are ignored, and what is in a submodule.
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

// contents are what a commit has: names of files, of submodules, and of the directories above them.
type contents struct{ files, links, dirs map[string]bool }

func (g *checkout) contents(commit string) (contents, error) {
	t := contents{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	out, err := g.ask(g.path, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return t, err
	}
	for _, line := range fields(out) {
		about, name, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(about, "160000 ") {
			t.links[name] = true
		} else {
			t.files[name] = true
		}
		for dir := filepath.Dir(name); dir != "." && !t.dirs[dir]; dir = filepath.Dir(dir) {
			t.dirs[dir] = true
		}
	}
	return t, nil
}

// takes reports whether there is something in the tree where a file is, or a directory with a
// repository, whose name ends with a slash.
func (t contents) takes(name string) bool {
	name, isDir := strings.CutSuffix(name, "/")
	if t.files[name] || t.dirs[name] || t.links[name] && !isDir {
		return true
	}
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if t.files[dir] { // in a submodule there may be anything
			return true
		}
	}
	return false
}

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
		if len(words) == 3 && words[0] == "160000" {
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

// wouldMove is what an update would refuse. A commit that is not here is fetched into a directory
// beside the repository, so that nothing of that changes.
func (g *change) wouldMove(changes map[string]diff.Diff) error {
	have, err := g.work()
	if err != nil {
		return err
	}
	at, _, err := g.head()
	if err != nil {
		return err
	}
	_, moves := changes["revision"]
	if moves && g.revision != "" {
		to, err := g.target()
		if err != nil {
			return err
		}
		remove, here, err := g.peek(to)
		if err != nil || !here {
			return err
		}
		defer remove()
		if err := g.mayMove(to, have); err != nil {
			return err
		}
		at = to.commit
	}
	if !g.submodules || at == "" {
		return nil
	}
	links, err := g.links(at)
	if err != nil {
		return err
	}
	for _, l := range links {
		sub := g.submodule(l)
		if sub == nil {
			continue
		}
		if commit, _, err := sub.head(); err != nil {
			return err
		} else if commit != l.commit {
			moves = true
		}
		changes := map[string]diff.Diff{}
		if moves {
			changes["revision"] = diff.Diff{}
		}
		if err := sub.wouldMove(changes); err != nil {
			return fmt.Errorf("submodule %s: %w", l.path, err)
		}
	}
	return nil
}

// peek makes a commit readable, and reports whether it could.
func (g *change) peek(to target) (remove func(), here bool, err error) {
	if here, err := g.has(to.commit); err != nil || here {
		return func() {}, here, err
	}
	if shallow, err := g.ask(g.path, "rev-parse", "--is-shallow-repository"); err != nil ||
		strings.TrimSpace(shallow) == "true" || g.depth > 0 {
		return nil, false, err // that would be noted in the repository
	}
	objects, err := g.ask(g.path, "rev-parse", "--git-path", "objects")
	if err != nil {
		return nil, false, err
	}
	if objects = strings.TrimSuffix(objects, "\n"); !filepath.IsAbs(objects) {
		objects = filepath.Join(g.path, objects)
	}
	dir, remove, err := g.temporary()
	if err != nil {
		return nil, false, err
	}
	g.extra = append(g.extra, "GIT_OBJECT_DIRECTORY="+dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+objects)
	what := to.ref
	if what == "" {
		what = to.commit
	}
	_, err = g.ask(g.path, "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--refmap=", "--",
		g.source, what)
	if err == nil {
		here, err = g.has(to.commit)
	}
	var f *failure
	if errors.As(err, &f) && to.ref == "" { // not every remote gives a commit by its id
		err = nil
	}
	if err != nil || !here {
		remove()
	}
	return remove, here, err
}

// fields splits what git prints with -z.
func fields(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}

// maxNamed bounds how many files an error names.
const maxNamed = 5

// named lists some names for people.
func named(names []string) string {
	out := strings.ToValidUTF8(strings.Join(names[:min(len(names), maxNamed)], ", "), "?")
	if n := len(names) - maxNamed; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

func list(names []string) []any {
	out := make([]any, 0, len(names))
	for _, name := range names {
		out = append(out, strings.ToValidUTF8(name, "?"))
	}
	return out
}
