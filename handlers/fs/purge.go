package fs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/provider"
)

const (
	// maxReported is how many removals are logged one by one.
	maxReported = 500
	// maxRounds is how often a directory is emptied while another process keeps writing to it.
	maxRounds = 10
)

// guarded are the directories that are never emptied or removed with all their entries: the system
// needs them.
func guarded() []string {
	return []string{"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64",
		"/libx32", "/media", "/mnt", "/opt", "/proc", "/root", "/run",
		"/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local",
		"/usr/sbin", "/usr/share", "/var", "/var/cache",
		"/var/lib", "/var/log", "/var/run", "/var/spool", "/var/tmp"}
}

// validPurge rejects recurse_purge of a guarded directory when the document is read; removal.guard
// does so when it is carried out.
func validPurge(attrs map[string]any) []diag.Problem {
	if purge, _ := attrs["recurse_purge"].(bool); !purge {
		return nil
	}
	for _, path := range guarded() {
		if attrs["path"] == path {
			return []diag.Problem{{Attribute: "recurse_purge",
				Message: path + " is a directory of the system itself, and is not emptied",
				Hint:    "name a directory in it"}}
		}
	}
	return nil
}

// removal removes things with everything below them. It names all entries relative to open
// directories, so that a link which a user inserts cannot redirect it. It stays on one file system.
type removal struct {
	sys  *disk.System
	ctx  *provider.Context
	dev  uint64 // of the file system it stays on
	done int    // things removed
}

func newRemoval(t *task, top int) (*removal, error) {
	var st unix.Stat_t
	if err := unix.Fstat(top, &st); err != nil {
		return nil, err
	}
	dev := uint64(st.Dev) //nolint:unconvert // it is of another type on some systems
	return &removal{sys: t.Dir.Sys, ctx: t.Ctx, dev: dev}, nil
}

// clearOut removes the entries that a directory must not have.
func clearOut(t *task) error {
	if !yes(t.Resource, "recurse_purge") {
		return nil
	}
	names, err := surplus(t.file.FD, t.Resource)
	if err != nil || len(names) == 0 {
		return err
	}
	r, err := newRemoval(t, t.file.FD)
	if err != nil {
		return err
	}
	if err := r.guard(t.file.FD, t.Path); err != nil {
		return err
	}
	defer r.report(t.Path)
	if err := keeperOf(t.Resource).each(t.file.FD, "", func(dir int, name, path string) error {
		return r.tree(dir, name, disk.Join(t.Path, path))
	}); err != nil {
		return err
	}
	return t.file.Sync()
}

// removeAll removes a directory with everything in it.
func removeAll(t *task) error {
	dir, err := t.Dir.OpenDir(t.Base)
	if err != nil {
		return disk.UnlessGone(err)
	}
	defer dir.Close()
	r, err := newRemoval(t, t.Dir.FD)
	if err != nil {
		return err
	}
	if err := r.guard(dir.FD, t.Path); err != nil {
		return err
	}
	defer r.report(t.Path)
	return r.tree(t.Dir.FD, t.Base, t.Path)
}

// guard rejects the directories of the system, under any name.
func (r *removal) guard(fd int, path string) error {
	var it unix.Stat_t
	if err := unix.Fstat(fd, &it); err != nil {
		return err
	}
	for _, name := range guarded() {
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err == nil && st.Dev == it.Dev && st.Ino == it.Ino {
			return provider.Errorf(provider.NeedsChange,
				"%s is a directory of the system itself (%s), and is not emptied; name a "+
					"directory in it", path, name)
		}
	}
	return nil
}

// tree removes the thing at name in an open directory, with everything below. A missing thing is no
// error.
func (r *removal) tree(dir int, name, path string) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := r.sys.StatAt(dir, name, &st); err != nil {
		return disk.UnlessGone(err)
	}
	var err error
	flags, call := 0, "unlink"
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		flags, call = unix.AT_REMOVEDIR, "rmdir"
	}
	for range maxRounds {
		if flags != 0 {
			if err := r.empty(dir, name, path); err != nil {
				return err
			}
		}
		err = r.sys.Do(call, func() error { return unix.Unlinkat(dir, name, flags) })
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			break
		}
	}
	switch {
	case disk.Gone(err):
		return nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		return provider.Errorf(provider.Retryable, "something writes into %s while it is removed",
			path)
	case err != nil:
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if r.done++; r.done <= maxReported {
		r.ctx.Info("removed", "path", path)
	}
	return nil
}

// empty removes all entries of a directory.
func (r *removal) empty(dir int, name, path string) error {
	fd, err := r.sys.OpenAt("opendir", dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	switch {
	case disk.Gone(err):
		return nil
	case err != nil:
		return fmt.Errorf("empty %s: %w", path, err)
	}
	list := os.NewFile(uintptr(fd), path)
	defer list.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uint64(st.Dev) != r.dev { //nolint:unconvert // as above
		return provider.Errorf(provider.Retryable,
			"another file system is mounted at %s; unmount it", path)
	}
	for {
		names, err := list.Readdirnames(1024)
		if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := r.tree(fd, name, disk.Join(path, name)); err != nil {
				return err
			}
		}
		if _, err := list.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// report logs the number of removed things, if it is more than were logged one by one.
func (r *removal) report(path string) {
	if r.done > maxReported {
		r.ctx.Info("removed more than is listed", "path", path, "count", int64(r.done))
	}
}

// openList opens an open directory again, to list it.
func openList(dir int) (*os.File, error) {
	fd, err := disk.OpenAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "directory"), nil
}
