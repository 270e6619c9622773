package git

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"southbound/shared/provider"
)

// fetch fetches a commit, unless it is present.
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

// fetchOne fetches a commit that no branch or tag has.
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
		if err != nil && to.ref == "" { // not every remote serves a commit by its id
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

// takeTags moves tags to the fetched ones, except those that a person has made or moved.
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
	todo.drop = nil // a tag that the remote has removed may still be useful
	return errors.Join(err, g.adopt(todo, theirs))
}

// bringCommit checks a commit out, unless it is checked out and no files have to be restored.
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

// move checks a commit out. Refs in the repository record the move while it runs. Files that a
// crash or a full disk leaves are then not mistaken for the work of a person.
func (g *change) move(to target, have work) error {
	how := manner{force: g.local == "discard", all: g.local == "discard"}
	if have.ours {
		var err error
		if how, err = g.resume(to); err != nil {
			return err
		}
	}
	if g.local == "discard" {
		if err := g.unhideAll(); err != nil {
			return err
		}
	}
	if err := g.begin(to, how); err != nil {
		return err
	}
	if err := g.checkOut(to, how.force); err != nil {
		return err
	}
	if err := g.wrote(); err != nil {
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
	return g.end()
}

// manner defines how a move is made.
type manner struct {
	force  bool // git overwrites files
	all    bool // it may write files that are equal in both commits
	goesOn bool // it continues an interrupted move
}

// resume prepares a move after an interrupted one. If no person has changed a file since, git may
// overwrite files, and the move to the same commit continues. Otherwise resume restores the files
// of HEAD that the move has left, and the next move is a new one.
func (g *change) resume(to target) (manner, error) {
	have, err := g.work() // a file may have been written since the checks
	if err != nil || !have.ours {
		return manner{}, err
	}
	at, err := g.refs(moves)
	if err != nil {
		return manner{}, err
	}
	same, discards := at["to"] == to.commit, g.local == "discard"
	if discards || len(have.changed)+len(have.other) == 0 && (have.fresh || same) {
		return manner{force: true, all: discards || have.fresh, goesOn: same}, g.dropOld(to, have.left)
	}
	if have.fresh {
		if err := g.begin(to, manner{all: true}); err != nil {
			return manner{}, err
		}
		if err := g.do(g.path, "read-tree", "HEAD"); err != nil {
			return manner{}, err
		}
	}
	if err := g.takeBack(have.left); err != nil {
		return manner{}, err
	}
	return manner{}, g.end()
}

// checkOut runs git checkout. Git refuses to overwrite files that a person has changed since they
// were examined: it exits with 1, and HEAD is unchanged. The move is not interrupted then.
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
	_ = g.end()
	return provider.Errorf(provider.NeedsChange, "%w; move them away, or set local to discard", err)
}

// unhideAll makes the index show all changes, as git does not overwrite hidden files even by force.
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

// bringSubmodules checks out each submodule's commit, and rejects the same cases as for the
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
		if sub == nil { // it is not cloned yet
			if err := g.clone(l); err != nil {
				return err
			}
			if sub = g.submodule(l); sub == nil {
				continue // its setting disables it
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
	if commit == l.commit && !have.fresh {
		to.branch = branch
	}
	if err := g.bringCommit(to, have); err != nil {
		return err
	}
	return g.bringSubmodules()
}
