package git

import (
	"path/filepath"

	"southbound/handlers/internal/disk"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// change brings a checkout to its desired state.
//
// Large: each method is one step of one change, on the same working tree.
type change struct{ checkout }

// changeOf returns the change of a resource. The caller closes it.
func (h handler) changeOf(ctx *provider.Context, r provider.Resource) (*change, error) {
	w, err := wantedOf(r)
	if err != nil {
		return nil, err
	}
	return h.change(ctx, w)
}

// change returns the change to a desired state. The caller closes it.
func (h handler) change(ctx *provider.Context, w wanted) (*change, error) {
	c, err := h.checkout(ctx, w)
	if err != nil {
		return nil, err
	}
	return &change{*c}, nil
}

// Create implements provider.Handler: it makes the checkout beside its path, and renames it when it
// is complete.
func (h handler) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	g, err := h.changeOf(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	defer g.close()
	if exists, err := g.there(); err != nil || exists {
		if err == nil { // an earlier create was not recorded
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
	// unlike os.Rename, this also replaces an empty directory
	if err := place.Rename(filepath.Base(aside.path), filepath.Base(g.path)); err != nil {
		return provider.Result{}, provider.Errorf(provider.Retryable,
			"put the checkout in its place: %w", err)
	}
	return provider.Result{}, place.There()
}

// prepare makes an empty repository that belongs to the user git runs as.
func (g *change) prepare(place *disk.Folder) error {
	if err := removeIn(place, g.path); err != nil {
		return provider.Errorf(provider.Retryable, "remove leftovers of an earlier run: %w", err)
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
	g, err := h.changeOf(ctx, req.Resource)
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

// bring brings a repository to its desired state.
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

func (g *change) bringTree() error {
	have, err := g.work()
	if err != nil {
		return err
	}
	to, err := g.destination()
	if err != nil {
		return err
	}
	if err := g.bringCommit(to, have); err != nil {
		return err
	}
	return g.bringSubmodules()
}

// destination is the target of the revision. Without a revision, it is the commit that is checked
// out, or the remote's default branch.
func (g *change) destination() (target, error) {
	if g.revision == "" {
		commit, branch, err := g.head()
		if err != nil || commit != "" {
			return target{commit: commit, branch: branch}, err
		}
		ref, err := g.own()
		if err != nil {
			return target{}, err
		}
		if ref == "" {
			return target{}, provider.Errorf(provider.Retryable,
				"the remote has no branch as its own; it may be empty: give revision")
		}
		g.revision = ref
	}
	return g.target()
}

// Noop implements provider.Nooper: it reports changes that would be rejected, as they would lose
// data.
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
	switch {
	case planned.Change == diff.Purged:
		return g.removable()
	case g.isBare != g.bare:
		return nil
	case g.isBare:
		return g.mayBring()
	}
	return g.wouldMove(planned.Changes)
}
