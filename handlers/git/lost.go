package git

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/provider"
)

// removable rejects the removal of a checkout with data that exists nowhere else: uncommitted
// files, and objects of repositories that their remotes never had. That covers commits on branches
// and on none, stashes, tags, notes, and objects that only an index or a reflog has.
func (g *change) removable() error {
	if g.local == "discard" {
		return nil
	}
	if err := g.owned(); err != nil {
		return err
	}
	var lost []string
	if !g.isBare {
		files, err := g.lostFiles()
		if err != nil {
			return err
		}
		lost = files
	}
	repositories, err := g.repositories()
	if err != nil {
		return err
	}
	for _, dir := range repositories {
		at := *g
		if dir != g.gitDir() {
			at.source = ""
		}
		at.path, at.isBare = dir, true
		if err := at.owned(); err != nil {
			return err
		}
		more, err := at.lostObjects()
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(g.path, dir); err == nil && len(more) > 0 &&
			dir != g.gitDir() {
			more = []string{named(more) + " of " + shown(rel)}
		}
		lost = append(lost, more...)
	}
	if lost == nil {
		return nil
	}
	return provider.Errorf(provider.NeedsChange,
		"the checkout has content that exists nowhere else: %s; commit and push it, copy it "+
			"elsewhere, or set local to discard", named(lost))
}

// gitDir is the directory of the repository, if it is within the checkout.
func (g *checkout) gitDir() string {
	if g.isBare {
		return g.path
	}
	return filepath.Join(g.path, ".git")
}

// lostFiles names uncommitted files of the working tree, and of the working trees of its
// submodules.
func (g *change) lostFiles() ([]string, error) {
	have, err := g.work()
	if err != nil {
		return nil, err
	}
	lost := slices.Concat(have.changed, have.other)
	links, err := g.links("")
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		var names []string
		if sub := g.submodule(l); sub != nil {
			names, err = sub.lostFiles()
		} else if names, err = strayIn(filepath.Join(g.path, l.path)); err == nil {
			slices.Sort(names)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			lost = append(lost, l.path+"/"+name)
		}
	}
	return lost, nil
}

// strayIn returns the entries of the directory of a submodule that is not checked out.
func strayIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		// A file at the path of a submodule is shown by git status.
		if info, e := os.Lstat(dir); e == nil && !info.IsDir() {
			return nil, nil
		}
		return nil, provider.Errorf(provider.Retryable, "read %s: %w", dir, err)
	}
	return names, nil
}

// repositories returns the directories with objects that would be removed with the checkout. The
// repository of a submodule remains when no commit has the submodule any longer.
func (g *change) repositories() ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(g.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if d.Name() == "objects" || d.Name() == "refs" {
			if dir := filepath.Dir(path); isRepository(dir) {
				if d.Name() == "objects" {
					dirs = append(dirs, dir)
				}
				return filepath.SkipDir
			}
		}
		return nil
	})
	if err != nil {
		return nil, provider.Errorf(provider.Retryable, "look for repositories: %w", err)
	}
	return dirs, nil
}

func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// lostObjects names the objects that a repository, whose directory is the path, has and its remotes
// never had.
func (g *change) lostObjects() ([]string, error) {
	g.extra = append(slices.Clone(g.extra), "GIT_DIR="+g.path, "GIT_WORK_TREE="+g.path)
	lost, err := g.worktrees()
	if err != nil {
		return nil, err
	}
	known, err := g.known(g.path)
	if err != nil {
		return nil, err
	}
	tags, err := g.strangeTags(nil)
	if err != nil {
		return nil, err
	}
	objects, err := g.unreachable(known)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 && len(tags) == 0 {
		return lost, nil
	}
	// The remote may have them although that was not recorded here.
	theirs, asked := g.asked()
	if tags, err = g.strangeTags(theirs); err != nil {
		return nil, err
	}
	if len(objects) > 0 && len(theirs) > 0 {
		known = append(known, slices.Collect(maps.Values(theirs))...)
		if objects, err = g.unreachable(known); err != nil {
			return nil, err
		}
	}
	names, err := g.describe(objects)
	if lost = append(append(lost, names...), tags...); len(lost) > 0 && asked != nil {
		lost[0] += " (the remote could not be asked for it)"
	}
	return lost, err
}

// known returns the recorded ids that a remote had.
func (g *checkout) known(dir string) ([]string, error) {
	out, err := g.ask(dir, "for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes", ours)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	var names strings.Builder
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		ids[id] = true
		names.WriteString(name + "\n")
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if out, err = g.feed(dir, names.String(), "rev-list", "--walk-reflogs", "--ignore-missing",
		"--stdin"); err != nil {
		return nil, err
	}
	for id := range strings.FieldsSeq(out) {
		ids[id] = true
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// unreachable returns the objects that cannot be reached from ids that remotes had, as kind and id.
func (g *checkout) unreachable(known []string) ([]string, error) {
	if known = g.present(known); len(known) == 0 {
		out, err := g.ask(g.path, "cat-file", "--batch-all-objects",
			"--batch-check=%(objecttype) %(objectname)")
		return lines(out), err
	}
	out, err := g.ask(g.path, append([]string{"fsck", "--unreachable", "--no-dangling",
		"--connectivity-only", "--no-progress"}, known...)...)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, line := range lines(out) {
		if rest, ok := strings.CutPrefix(line, "unreachable "); ok {
			all = append(all, rest)
		}
	}
	return all, nil
}

// present removes the ids of missing objects.
func (g *checkout) present(ids []string) []string {
	out, err := g.feed(g.path, strings.Join(ids, "\n")+"\n", "cat-file",
		"--batch-check=%(objectname)")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(lines(out), func(line string) bool {
		return strings.HasSuffix(line, " missing")
	})
}

// asked returns the current refs of the remote.
func (g *change) asked() (refs, error) {
	source := g.source
	if source == "" {
		source = "origin"
	}
	out, err := g.ask(g.path, "ls-remote", "--refs", "--", source)
	return parseRefs(out, ""), err
}

// strangeTags returns tags that differ from those of the remote, as recorded here or, if it was
// queried, as the remote has them.
func (g *checkout) strangeTags(theirs refs) ([]string, error) {
	tags, err := g.refs("refs/tags/")
	if err != nil {
		return nil, err
	}
	noted, err := g.refs(mirror + "tags/")
	var strange []string
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if id := tags[name]; id != noted[name] && id != theirs["refs/tags/"+name] {
			strange = append(strange, "tag "+name)
		}
	}
	return strange, err
}

// worktrees returns the other working trees of a repository.
func (g *checkout) worktrees() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(g.path, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, provider.Errorf(provider.Retryable, "look for working trees: %w", err)
	}
	var found []string
	for _, e := range entries {
		at, err := os.ReadFile(filepath.Join(g.path, "worktrees", e.Name(), "gitdir"))
		if _, gone := os.Lstat(strings.TrimSpace(string(at))); err == nil && gone == nil {
			found = append(found, "the repository of the working tree "+
				filepath.Dir(strings.TrimSpace(string(at))))
		}
	}
	return found, nil
}

// describe names objects: by the ref that leads to one, commits by their ids, and the number of the
// remaining ones.
func (g *checkout) describe(objects []string) ([]string, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	all, err := g.refs("refs/")
	if err != nil {
		return nil, err
	}
	byID := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if byID[all[name]] == "" && !strings.HasPrefix("refs/"+name, ours) {
			byID[all[name]] = name
		}
	}
	var named, commits []string
	for _, o := range objects {
		kind, id, _ := strings.Cut(o, " ")
		switch name := byID[id]; {
		case name != "" && !strings.HasPrefix(name, "tags/"):
			named = append(named, "refs/"+name)
		case kind == "commit":
			commits = append(commits, "commit "+id[:12])
		}
	}
	out := append(named, commits...)
	if len(out) == 0 {
		out = []string{"objects that no commit of the remote has, which git fsck --unreachable " +
			"or the index shows"}
	}
	return out, nil
}

func lines(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
}
