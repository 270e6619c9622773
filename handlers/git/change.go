package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"southbound/handlers/internal/disk"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// change makes a checkout what is wanted.
type change struct{ checkout }

// change returns that of a resource. The caller closes it.
func (h handler) change(ctx *provider.Context, w wanted) (*change, error) {
	c, err := h.checkout(ctx, w)
	if err != nil {
		return nil, err
	}
	return &change{*c}, nil
}

// Create implements provider.Handler: the checkout is made beside its place, and put there when it
// is whole.
func (h handler) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	w, err := wantedOf(req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	g, err := h.change(ctx, w)
	if err != nil {
		return provider.Result{}, err
	}
	defer g.close()
	if exists, err := g.there(); err != nil || exists {
		if err == nil { // a create that was not recorded
			err = g.owned()
		}
		if err == nil {
			err = g.bring()
		}
		return provider.Result{}, err
	}
	place, err := g.place()
	if err != nil {
		return provider.Result{}, err
	}
	defer place.Close()
	aside := *g
	aside.path = g.hidden()
	defer func() { _ = removeIn(place, aside.path) }()
	if err := aside.prepare(place); err != nil {
		return provider.Result{}, err
	}
	if err := aside.bring(); err != nil {
		return provider.Result{}, err
	}
	// unlike os.Rename, also to an empty directory
	if err := place.Rename(filepath.Base(aside.path), filepath.Base(g.path)); err != nil {
		return provider.Result{}, provider.Errorf(provider.Retryable,
			"put the checkout in its place: %w", err)
	}
	return provider.Result{}, place.There()
}

// prepare makes an empty repository that belongs to whom git runs as.
func (g *change) prepare(place *disk.Folder) error {
	if err := removeIn(place, g.path); err != nil {
		return provider.Errorf(provider.Retryable, "remove what a run before left: %w", err)
	}
	if err := g.makeDir(place); err != nil {
		return err
	}
	args := []string{"init", "-q", "--template="}
	if g.bare {
		args = append(args, "--bare")
	}
	return g.do(g.path, args...)
}

// Update implements provider.Handler.
func (h handler) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	w, err := wantedOf(req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	g, err := h.change(ctx, w)
	if err != nil {
		return provider.Result{}, err
	}
	defer g.close()
	exists, err := g.there()
	if err == nil && !exists {
		return h.Create(ctx, provider.CreateRequest{Resource: req.Resource})
	}
	if err == nil {
		err = g.owned()
	}
	if err == nil {
		err = g.bring()
	}
	return provider.Result{}, err
}

// bring makes a repository have what is wanted.
func (g *change) bring() error {
	fetch := "+refs/heads/*:refs/remotes/origin/*"
	if g.bare {
		fetch = "+refs/heads/*:refs/heads/*"
	}
	for _, set := range [][2]string{{"remote.origin.url", g.source},
		{"remote.origin.fetch", fetch}} {
		have, err := g.setting(set[0])
		if err == nil && have != set[1] {
			err = g.do(g.path, "config", "--local", "--replace-all", set[0], set[1])
		}
		if err != nil {
			return err
		}
	}
	if g.bare {
		return g.bringBare()
	}
	return g.bringTree()
}

func (g *change) bringBare() error {
	if err := g.do(g.path, "fetch", "-q", "--prune", "--force", "origin",
		"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return err
	}
	if ref, err := g.own(); err == nil && ref != "" {
		return g.do(g.path, "symbolic-ref", "HEAD", ref)
	}
	return nil
}

// own returns the branch that the remote has as its own.
func (g *change) own() (string, error) {
	out, err := g.ask("/", "ls-remote", "--symref", "--", g.source, "HEAD")
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(out, "\n") {
		if rest, ok := strings.CutPrefix(line, "ref: "); ok {
			ref, _, _ := strings.Cut(rest, "\t")
			return ref, nil
		}
	}
	return "", nil
}

func (g *change) bringTree() error {
	commit, branch, err := g.head()
	if err != nil {
		return err
	}
	changed, ours, err := g.changed()
	if err != nil {
		return err
	}
	if g.revision == "" {
		if commit != "" { // any is right
			if ours || len(changed) > 0 && g.local == "discard" {
				err = g.move(target{commit: commit, branch: branch}, true)
			}
			return errors.Join(err, g.bringSubmodules())
		}
		ref, err := g.own()
		if err != nil {
			return err
		}
		if ref == "" {
			return provider.Errorf(provider.Retryable,
				"the remote has no branch as its own; it may be empty: give revision")
		}
		g.revision = ref
	}
	to, err := g.target()
	if err != nil {
		return err
	}
	if to.commit != commit || to.branch != branch || ours ||
		len(changed) > 0 && g.local == "discard" {
		if err := g.allowed(to, changed, ours, true); err != nil {
			return err
		}
		if err := g.fetch(to); err != nil {
			return err
		}
		if err := g.move(to, ours || g.local == "discard"); err != nil {
			return err
		}
	}
	return g.bringSubmodules()
}

// maxNamed bounds how many files an error names.
const maxNamed = 5

// saved refuses to take files away that were changed and not committed.
func (g *change) saved(changed []any, ours bool) error {
	if len(changed) == 0 || g.local != "refuse" || ours {
		return nil
	}
	return provider.Errorf(provider.NeedsChange,
		"files of the checkout were changed and not committed: %v%s; commit, save or restore "+
			"them, or set local",
		changed[:min(len(changed), maxNamed)], more(len(changed)-maxNamed))
}

// allowed refuses to move over what would be lost. The remote is asked for the commit, where it is
// needed to tell, when fetch says so; else what cannot be told is allowed.
func (g *change) allowed(to target, changed []any, ours, fetch bool) error {
	if g.local == "discard" {
		return nil
	}
	if err := g.saved(changed, ours); err != nil || to.branch == "" {
		return err
	}
	// Commits of the branch here are lost when the remote does not have them.
	out, err := g.ask(g.path, "rev-parse", "--verify", "-q", "refs/heads/"+to.branch)
	here := strings.TrimSpace(out)
	var f *failure
	switch {
	case errors.As(err, &f):
		return nil // no such branch here
	case err != nil:
		return err
	case here == to.commit:
		return nil
	}
	for _, known := range []string{"refs/remotes/origin/" + to.branch, to.commit} {
		if yes, err := g.succeeds(g.path, "merge-base", "--is-ancestor", here, known); err != nil ||
			yes {
			return err
		}
	}
	if fetch {
		err = g.fetch(to)
	} else if yes, e := g.succeeds(g.path, "cat-file", "-e", to.commit+"^{commit}"); e != nil ||
		!yes {
		return e
	}
	if err != nil {
		return err
	}
	if yes, err := g.succeeds(g.path, "merge-base", "--is-ancestor", here, to.commit); err != nil ||
		yes {
		return err
	}
	return provider.Errorf(provider.NeedsChange,
		"the branch %s has commits here that the remote has not; push them, or set local "+
			"to discard", to.branch)
}

// removable refuses to remove what would be lost with a checkout.
func (g *change) removable() error {
	if g.isBare || g.local != "refuse" {
		return nil
	}
	if err := g.owned(); err != nil {
		return err
	}
	changed, ours, err := g.changed()
	if err != nil {
		return err
	}
	if err := g.saved(changed, ours); err != nil {
		return err
	}
	out, err := g.ask(g.path, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/stash")
	if err != nil {
		return err
	}
	for ref := range strings.FieldsSeq(out) {
		mine, err := g.ask(g.path, "rev-list", "--max-count=1", ref, "--not", "--remotes", "--tags",
			"--glob="+fetched)
		if err != nil {
			return err
		}
		if mine != "" {
			return provider.Errorf(provider.NeedsChange,
				"%s has commits here that the remote has not; push them, or set local", ref)
		}
	}
	return nil
}

// Noop implements provider.Nooper: whether what is here would be refused to be lost.
func (h handler) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	w, err := wantedOf(planned.Resource)
	if err != nil || planned.Change == diff.Created {
		return err
	}
	g, err := h.change(ctx, w)
	if err != nil {
		return err
	}
	defer g.close()
	if exists, err := g.there(); err != nil || !exists {
		return err
	}
	if planned.Change == diff.Purged {
		return g.removable()
	}
	if g.isBare || g.bare || g.revision == "" {
		return nil
	}
	changed, ours, err := g.changed()
	if err != nil {
		return err
	}
	if _, moves := planned.Changes["revision"]; !moves {
		return nil
	}
	to, err := g.target()
	if err != nil {
		return err
	}
	return g.allowed(to, changed, ours, false)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// fetch gets a commit, unless it is here.
func (g *change) fetch(to target) error {
	if yes, err := g.succeeds(g.path, "cat-file", "-e", to.commit+"^{commit}"); err != nil ||
		yes && to.ref == "" {
		return err
	}
	if g.depth == 0 {
		args := []string{"fetch", "-q", "--force", "--tags", "origin"}
		if shallow, err := g.ask(g.path, "rev-parse", "--is-shallow-repository"); err == nil &&
			strings.TrimSpace(shallow) == "true" {
			args = append(args, "--unshallow")
		}
		err := g.do(g.path, args...)
		if err == nil && to.ref == "" {
			if yes, err := g.succeeds(g.path, "cat-file", "-e",
				to.commit+"^{commit}"); err != nil || yes {
				return err
			}
			return g.do(g.path, "fetch", "-q", "origin", to.commit) // on no branch
		}
		return err
	}
	spec := to.commit
	switch {
	case to.branch != "":
		spec = "+" + to.ref + ":refs/remotes/origin/" + to.branch
	case to.ref != "":
		spec = "+" + to.ref + ":" + to.ref
	}
	depth := fmt.Sprintf("--depth=%d", g.depth)
	err := g.do(g.path, "fetch", "-q", "--force", depth, "origin", spec)
	if err != nil && to.ref == "" { // not every remote gives a commit by its id
		return g.do(g.path, "fetch", "-q", "--force", "--tags", "origin")
	}
	return err
}

// move checks a commit out. A ref stands in the repository meanwhile, so that what a crash leaves
// is not taken for the work of a person.
func (g *change) move(to target, force bool) error {
	if err := g.do(g.path, "update-ref", moving, to.commit); err != nil {
		return err
	}
	args := []string{"checkout", "-q"}
	if force {
		args = append(args, "--force")
	}
	if to.branch != "" {
		args = append(args, "--no-track", "-B", to.branch, to.commit)
	} else {
		args = append(args, "--detach", to.commit)
	}
	if err := g.do(g.path, append(args, "--")...); err != nil {
		var f *failure
		if errors.As(err, &f) && strings.Contains(f.said, "would be overwritten") {
			_, _ = g.ask(g.path, "update-ref", "-d", moving)
			return provider.Errorf(provider.NeedsChange,
				"%w; move them away, or set local to discard", err)
		}
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
	if to.branch != "" {
		if err := g.do(g.path, "update-ref", fetched+to.branch, to.commit); err != nil {
			return err
		}
	}
	return g.do(g.path, "update-ref", "-d", moving)
}

func (g *change) bringSubmodules() error {
	if !g.submodules {
		return nil
	}
	if err := g.do(g.path, "submodule", "-q", "sync", "--recursive"); err != nil {
		return err
	}
	args := []string{"submodule", "-q", "update", "--init", "--recursive"}
	if g.local == "discard" {
		args = append(args, "--force")
	}
	if g.depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", g.depth))
	}
	return g.do(g.path, args...)
}

// Delete implements provider.Handler: the checkout goes at once, its files after that.
func (h handler) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	w, err := wantedOf(req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	g, err := h.change(ctx, w)
	if err != nil {
		g = &change{checkout{runner: runner{wanted: w, ctx: ctx, before: h.before,
			config: h.config}}} // the user may be gone already
	}
	defer g.close()
	exists, err := g.there()
	if err != nil || !exists {
		return provider.Result{}, err
	}
	if err := g.removable(); err != nil {
		return provider.Result{}, err
	}
	place, err := g.place()
	if err != nil {
		return provider.Result{}, err
	}
	defer place.Close()
	base, aside := filepath.Base(g.path), g.hidden()
	for _, f := range []func() error{
		func() error { return removeIn(place, aside) },
		func() error { return place.Rename(base, filepath.Base(aside)) },
		func() error { return removeIn(place, aside) },
	} {
		if err := g.step("remove"); err != nil {
			return provider.Result{}, err
		}
		if err := f(); err != nil {
			return provider.Result{}, provider.Errorf(provider.Retryable, "remove %s: %w", g.path,
				err)
		}
	}
	return provider.Result{}, nil
}
