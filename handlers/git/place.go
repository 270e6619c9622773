package git

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// place opens the directory that the checkout is in. What is made, moved and removed there is named
// by it: whoever may put another directory on the way leads none of that elsewhere. The caller
// closes it.
func (g *change) place() (*disk.Folder, error) {
	dir := filepath.Dir(g.path)
	step := func(call string) error { return g.step(call) }
	d, err := disk.OpenFolder(&disk.System{Before: step}, dir)
	if disk.Gone(err) {
		return nil, provider.Errorf(provider.Retryable,
			"there is no directory %s; describe that, too", dir)
	}
	return d, disk.Explain("reach "+g.path, err)
}

// makeDir makes the directory. It is given away through the descriptor that it is looked at by, as
// the user may exchange what is in a directory of theirs.
func (g *change) makeDir(place *disk.Folder) error {
	base := filepath.Base(g.path)
	// a checkout is for all to read unless the directory above it says otherwise
	const mode = 0o755
	if err := place.Sys.Do("mkdir",
		func() error { return unix.Mkdirat(place.FD, base, mode) }); err != nil {
		return disk.Explain("make "+g.path, err)
	}
	if g.who == nil {
		return nil
	}
	made, err := place.OpenDir(base)
	if err != nil {
		return provider.Errorf(provider.Retryable,
			"something else is in the place of the new directory %s: %w", g.path, err)
	}
	defer made.Close()
	if err := made.Empty(); err != nil {
		return err
	}
	owner := disk.Perm{UID: int(g.who.Uid), GID: int(g.who.Gid), Mode: -1}
	err = owner.Set(made)
	if errors.Is(err, unix.EPERM) {
		return provider.Errorf(provider.Terminal,
			"only the superuser can make a checkout for another user: %w", err)
	}
	return disk.Explain("give "+g.path+" to its user", err)
}

// tidy removes what a run before left, and returns a checkout to its path that was to be removed.
func (w wanted) tidy() error {
	d, err := disk.OpenFolder(nil, filepath.Dir(w.path))
	if err != nil {
		return disk.UnlessGone(err)
	}
	defer d.Close()
	if err := w.putBack(d); err != nil {
		return disk.Explain("return "+shown(w.path)+" to its place", err)
	}
	if err := removeIn(d, w.hidden()); err != nil {
		return provider.Errorf(provider.Retryable, "remove what a run before left: %w", err)
	}
	return nil
}

// removeIn removes what is at a path, with all that is in it, by the directory that it is in.
func removeIn(d *disk.Folder, path string) error {
	base := filepath.Base(path)
	var st unix.Stat_t
	if err := d.Stat(base, &st); err != nil {
		return disk.UnlessGone(err)
	}
	root, err := disk.OpenRoot(d)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(base)
}
