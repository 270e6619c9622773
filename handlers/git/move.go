package git

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// fetch gets a commit, unless it is here.
func (g *change) fetch(to target) error {
	here, err := g.has(to.commit)
	if err != nil || here && !to.remote {
		return err
	}
	if g.depth > 0 {
		return g.fetchShallow(to)
	}
	args := []string{"fetch", "-q", "--force", "--no-tags"}
	if shallow, err := g.ask(g.path, "rev-parse", "--is-shallow-repository"); err == nil &&
		strings.TrimSpace(shallow) == "true" {
		args = append(args, "--unshallow")
	}
	if err := g.do(g.path, append(args, "origin", "+refs/heads/*:refs/remotes/origin/*",
		"+refs/tags/*:"+incoming+"tags/*")...); err != nil {
		return err
	}
	if err := g.takeTags(); err != nil {
		return err
	}
	if here, err = g.has(to.commit); err != nil || here {
		return err
	}
	return g.fetchOne(to)
}

func (g *change) has(commit string) (bool, error) {
	return g.succeeds(g.path, "cat-file", "-e", commit+"^{commit}")
}

// fetchOne gets a commit that is on no branch and has no tag.
func (g *change) fetchOne(to target, args ...string) error {
	from := to.ref
	if from == "" {
		from = to.commit
	}
	args = append([]string{"fetch", "-q", "--force", "--no-tags"}, args...)
	return g.do(g.path, append(args, "origin", "+"+from+":"+single+to.commit)...)
}

func (g *change) fetchShallow(to target) error {
	depth := fmt.Sprintf("--depth=%d", g.depth)
	tag, isTag := strings.CutPrefix(to.ref, "refs/tags/")
	var into string
	switch {
	case to.branch != "":
		into = "refs/remotes/origin/" + to.branch
	case isTag:
		into = incoming + "tags/" + tag
	default:
		err := g.fetchOne(to, depth)
		if err != nil && to.ref == "" { // not every remote gives a commit by its id
			return g.do(g.path, "fetch", "-q", "--force", "--no-tags", "origin",
				"+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:"+incoming+"tags/*")
		}
		return err
	}
	err := g.do(g.path, "fetch", "-q", "--force", "--no-tags", depth, "origin",
		"+"+to.ref+":"+into)
	if err == nil && isTag {
		err = g.takeTags()
	}
	return err
}

// takeTags moves tags to what was fetched, except those that a person has made or moved.
func (g *change) takeTags() error {
	theirs, err := g.refs(incoming)
	if err != nil {
		return err
	}
	here, err := g.refs("refs/")
	if err != nil {
		return err
	}
	maps.DeleteFunc(theirs, func(name, _ string) bool { return !strings.HasPrefix(name, "tags/") })
	todo, err := g.compare(theirs, here)
	todo.drop = nil // a tag that the remote has given up may be of use
	return errors.Join(err, g.adopt(todo, theirs))
}

// bringCommit checks a commit out, if it is not yet or if files have to be restored.
func (g *change) bringCommit(to target, have work) error {
	commit, branch, err := g.head()
	if err != nil {
		return err
	}
	if to.commit == commit && to.branch == branch {
		if have.ours || len(have.changed) > 0 && g.local == "discard" {
			return g.move(to, have)
		}
		return nil
	}
	if err := g.fetch(to); err != nil {
		return err
	}
	if err := g.mayMove(to, have); err != nil {
		return err
	}
	return g.move(to, have)
}

// move checks a commit out. A ref stands in the repository meanwhile, so that what a crash leaves
// is not taken for the work of a person.
func (g *change) move(to target, have work) error {
	force := have.ours || g.local == "discard"
	if have.ours && g.local != "discard" && len(have.changed) > 0 {
		if err := g.restore(have); err != nil {
			return err
		}
		force = false
	}
	if g.local == "discard" {
		if err := g.unhideAll(); err != nil {
			return err
		}
	}
	if err := g.do(g.path, "update-ref", moving, to.commit); err != nil {
		return err
	}
	if err := g.checkOut(to, force); err != nil {
		return err
	}
	if to.branch != "" && to.ref != "" {
		for _, set := range [][2]string{{"remote", "origin"}, {"merge", to.ref}} {
			if err := g.do(g.path, "config", "--local", "branch."+to.branch+"."+set[0],
				set[1]); err != nil {
				return err
			}
		}
	}
	if to.branch != "" && to.remote {
		if err := g.do(g.path, "update-ref", fetched+to.branch, to.commit); err != nil {
			return err
		}
	}
	return g.do(g.path, "update-ref", "-d", moving)
}

// checkOut runs git checkout. Git refuses to overwrite files that a person has changed since they
// were looked at: it ends with 1, and HEAD stays. Nothing is cut off then.
func (g *change) checkOut(to target, force bool) error {
	before, _, err := g.head()
	if err != nil {
		return err
	}
	args := []string{"checkout", "-q", "--no-overwrite-ignore"}
	if force {
		args = append(args, "--force")
	}
	if to.branch != "" {
		args = append(args, "--no-track", "-B", to.branch, to.commit)
	} else {
		args = append(args, "--detach", to.commit)
	}
	err = g.do(g.path, append(args, "--")...)
	var f *failure
	if !errors.As(err, &f) || f.code != 1 || force {
		return err
	}
	if after, _, e := g.head(); e != nil || after != before {
		return err
	}
	_, _ = g.ask(g.path, "update-ref", "-d", moving)
	return provider.Errorf(provider.NeedsChange, "%w; move them away, or set local to discard", err)
}

// unhideAll has the index hide no changes, as git does not overwrite hidden files even by force.
func (g *change) unhideAll() error {
	hidden, err := g.hiddenFiles()
	if err != nil || len(hidden) == 0 {
		return err
	}
	if err := g.step("update-index"); err != nil {
		return err
	}
	return g.unhide(hidden)
}

// restore takes back what a move has done that was cut off, and leaves alone what a person has
// changed.
func (g *change) restore(have work) error {
	tracked, err := g.ask(g.path, "ls-tree", "-r", "-z", "--name-only", "HEAD")
	if err != nil {
		return err
	}
	old := map[string]bool{}
	for _, name := range fields(tracked) {
		old[name] = true
	}
	root, err := os.OpenRoot(g.path)
	if err != nil {
		return provider.Errorf(provider.Retryable, "open %s: %w", g.path, err)
	}
	defer root.Close()
	var back strings.Builder
	for name := range have.moved {
		if old[name] {
			back.WriteString(name + "\x00")
		} else if err := root.Remove(name); disk.UnlessGone(err) != nil {
			return provider.Errorf(provider.Retryable, "take a move back that was cut off: %w", err)
		}
	}
	if back.Len() == 0 {
		return nil
	}
	if err := g.step("checkout"); err != nil {
		return err
	}
	_, err = g.feed(g.path, back.String(), "checkout", "-q", "--force", "HEAD",
		"--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// bringSubmodules checks out what the commit says of each submodule, and refuses as for the
// checkout itself.
func (g *change) bringSubmodules() error {
	if !g.submodules {
		return nil
	}
	links, err := g.links("")
	if err != nil || len(links) == 0 {
		return err
	}
	if err := g.do(g.path, "submodule", "-q", "sync"); err != nil {
		return err
	}
	for _, l := range links {
		sub := g.submodule(l)
		if sub == nil { // it is not here yet
			args := []string{"submodule", "-q", "update", "--init"}
			if g.depth > 0 {
				args = append(args, fmt.Sprintf("--depth=%d", g.depth))
			}
			if err := g.do(g.path, append(args, "--", l.path)...); err != nil {
				return err
			}
			if sub = g.submodule(l); sub == nil {
				continue // its setting says that it is not to be
			}
		}
		if err := sub.bringLink(l); err != nil {
			return fmt.Errorf("submodule %s: %w", l.path, err)
		}
	}
	return nil
}

// bringLink checks out the commit of a link in a submodule.
func (g *change) bringLink(l link) error {
	commit, branch, err := g.head()
	if err != nil {
		return err
	}
	have, err := g.work()
	if err != nil {
		return err
	}
	to := target{commit: l.commit}
	if commit == l.commit {
		to.branch = branch
	}
	if err := g.bringCommit(to, have); err != nil {
		return err
	}
	return g.bringSubmodules()
}
