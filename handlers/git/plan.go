package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"southbound/shared/diff"
)

// wouldMove returns the error that an update would return. A missing commit is fetched into a
// directory beside the repository, so that the repository does not change.
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

// peek makes a commit readable, and reports whether it succeeded.
func (g *change) peek(to target) (remove func(), here bool, err error) {
	if here, err := g.has(to.commit); err != nil || here {
		return func() {}, here, err
	}
	if shallow, err := g.ask(g.path, "rev-parse", "--is-shallow-repository"); err != nil ||
		strings.TrimSpace(shallow) == "true" || g.depth > 0 {
		return nil, false, err // git would record that in the repository
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
	if errors.As(err, &f) && to.ref == "" { // not every remote serves a commit by its id
		err = nil
	}
	if err != nil || !here {
		remove()
	}
	return remove, here, err
}
