package git

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// place opens the directory that contains the checkout. All things are made, moved and removed
// relative to it, so that a user who replaces a directory on the path cannot redirect them. The
// caller closes it.
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

// makeDir makes the directory. It changes the owner through the open descriptor, as the user may
// replace entries of a directory of theirs.
func (g *change) makeDir(place *disk.Folder) error {
	base := filepath.Base(g.path)
	// all users may read a checkout unless the directory above it prevents that
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

// tidy removes the remains of earlier runs, and returns a checkout to its path if its removal was
// interrupted.
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
		return provider.Errorf(provider.Retryable, "remove leftovers of an earlier run: %w", err)
	}
	return nil
}

// removeIn removes the thing at a path, with everything in it, relative to its open directory.
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
