package disk

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// Folder is an opened directory. Its methods name entries of it and never follow a symbolic link.
// Errors are those of the system.
//
// Large: it has the system calls that take an opened directory and a name, a line or two each, and
// the properties of the directory itself. Callers combine them, and share only the descriptor.
type Folder struct {
	Sys  *System
	Path string
	FD   int
	// Blind reports that the directory may be passed but not opened for reading, so that it cannot
	// be synced.
	Blind bool
}

// OpenFolder opens a directory; it follows symbolic links in its path if that is safe, see walk.
// The caller closes it.
func OpenFolder(sys *System, path string) (*Folder, error) {
	fd, err := openDirPath(sys, path, unix.O_RDONLY)
	if err == nil {
		return &Folder{Sys: sys, Path: path, FD: fd}, nil
	}
	if !errors.Is(err, unix.EACCES) {
		return nil, err
	}
	if fd, err = openDirPath(sys, path, searchOnly); err != nil {
		return nil, err
	}
	return &Folder{Sys: sys, Path: path, FD: fd, Blind: true}, nil
}

func (d *Folder) Close() { _ = unix.Close(d.FD) }

// Real returns a name of the thing at base that does not depend on the path by which the directory
// was opened; the path if the system does not provide one.
func (d *Folder) Real(base string) string {
	var st unix.Stat_t
	if err := unix.Fstat(d.FD, &st); err != nil {
		return Join(d.Path, base)
	}
	return fmt.Sprintf("%d:%d/%s", st.Dev, st.Ino, base)
}

// RealOf returns the current Folder.Real of a path; "" if its directory does not exist.
func RealOf(path string) string {
	dir, base, err := Place(path)
	if err != nil {
		return ""
	}
	var st unix.Stat_t
	if err := again(func() error { return unix.Stat(dir, &st) }); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d/%s", st.Dev, st.Ino, base)
}

// Sync makes the entries durable.
func (d *Folder) Sync() error { return File{d.FD, d.Sys}.Sync() }

// There reports that another directory, or none, is now at the folder's path: entries that were
// changed in the folder are elsewhere now, or were removed.
func (d *Folder) There() error {
	var it, now unix.Stat_t
	if err := unix.Fstat(d.FD, &it); err != nil {
		return err
	}
	if err := again(func() error { return unix.Stat(d.Path, &now) }); err != nil {
		return err
	}
	if it.Dev != now.Dev || it.Ino != now.Ino {
		return provider.Errorf(provider.Retryable,
			"another process replaced the directory %s", d.Path)
	}
	return nil
}

// Writable rejects, before a change begins, a directory in which no change could be made durable.
func (d *Folder) Writable() error {
	if d.Blind {
		return unix.EACCES
	}
	return nil
}

// Stat describes the entry, a symbolic link itself.
func (d *Folder) Stat(base string, st *unix.Stat_t) error {
	return d.Sys.StatAt(d.FD, base, st)
}

// Open opens a thing for reading and describes it. It does not wait for the other end of a pipe. A
// symbolic link is ELOOP.
func (d *Folder) Open(base string, st *unix.Stat_t) (fd int, err error) {
	fd, err = d.Sys.OpenAt("open", d.FD, base,
		unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	if err := again(func() error { return unix.Fstat(fd, st) }); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// OpenDir opens a directory in it.
func (d *Folder) OpenDir(base string) (File, error) {
	fd, err := d.Sys.OpenAt("opendir", d.FD, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW,
		0)
	return File{fd, d.Sys}, err
}

// Locked reports whether an owner, this user, cannot read a thing only because its mode lacks the
// owner's read permission, which the desired mode has.
func (d *Folder) Locked(st *unix.Stat_t, want Perm) bool {
	return int(st.Uid) == d.Sys.UID() && st.Mode&unix.S_IRUSR == 0 && want.Mode >= 0 &&
		want.Mode&unix.S_IRUSR != 0
}

// Unlock opens a thing of this user whose mode denies even its owner to read it, and describes it.
// It first permits reading: the caller sets another mode. EACCES means that another user owns the
// thing, or that it has further names.
func (d *Folder) Unlock(base string, st *unix.Stat_t) (fd int, err error) {
	err = d.Sys.Do("unlock", func() error {
		fd, err = openLocked(d.FD, base, d.Sys.UID(), st)
		return err
	})
	return fd, err
}

// Remove removes an entry that is not a directory; a missing entry is no error.
func (d *Folder) Remove(base string) error {
	return UnlessGone(d.Sys.Do("unlink", func() error { return unix.Unlinkat(d.FD, base, 0) }))
}

// RemoveDir removes an empty directory; a missing one is no error.
func (d *Folder) RemoveDir(base string) error {
	return UnlessGone(d.Sys.Do("rmdir",
		func() error { return unix.Unlinkat(d.FD, base, unix.AT_REMOVEDIR) }))
}

// Rename renames a thing, and replaces the entry with the new name.
func (d *Folder) Rename(from, to string) error {
	return d.Sys.Do("rename", func() error { return unix.Renameat(d.FD, from, d.FD, to) })
}

// hardLink gives a thing a second name, which must not exist.
func (d *Folder) hardLink(from, to string) error {
	return d.Sys.Do("link", func() error { return unix.Linkat(d.FD, from, d.FD, to, 0) })
}

// SymLink makes a symbolic link; its name must not exist.
func (d *Folder) SymLink(target, base string) error {
	return d.Sys.Do("symlink", func() error { return unix.Symlinkat(target, d.FD, base) })
}

// ReadLink returns the target of a symbolic link, truncated to the size of buf.
func (d *Folder) ReadLink(base string, buf []byte) (target string, err error) {
	n := 0
	err = d.Sys.Do("readlink", func() error {
		n, err = unix.Readlinkat(d.FD, base, buf)
		return err
	})
	return string(buf[:max(n, 0)]), err
}

// MakeDir makes a directory that only its owner may enter; its name must not exist.
func (d *Folder) MakeDir(base string) error {
	return d.Sys.Do("mkdir", func() error { return unix.Mkdirat(d.FD, base, 0o700) })
}

// chown changes the owner of a symbolic link, and of no other thing that has replaced it since.
func (d *Folder) chown(base string, uid, gid int) error {
	return d.Sys.Do("fchownat", func() error { return chownLink(d.FD, base, uid, gid) })
}

// Tidy removes the remains of a crash for base.
func (d *Folder) Tidy(base string) error {
	name := Leftover(base)
	var st unix.Stat_t
	if err := d.Stat(name, &st); err != nil {
		// usually there are none: a lookup is cheaper than a removal, which locks the directory
		return UnlessGone(err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return d.RemoveDir(name)
	}
	return d.Remove(name)
}

// Leftovers lists the remains of crashes in the directory: names as Leftover returns them. If the
// directory has more than most entries, or cannot be listed, all is false: names may be missing.
// The system writes entries to buf.
func (d *Folder) Leftovers(most int, buf []byte) (names map[string]bool, all bool) {
	if d.Blind || (File{d.FD, d.Sys}).Rewind() != nil {
		return nil, false
	}
	var entries []string
	for seen := 0; seen <= most; seen += len(entries) {
		n := 0
		err := d.Sys.Do("list", func() (err error) { n, err = unix.ReadDirent(d.FD, buf); return err })
		if err != nil || n <= 0 {
			return names, err == nil
		}
		_, _, entries = unix.ParseDirent(buf[:n], -1, entries[:0])
		for _, name := range entries {
			if isLeftover(name) {
				if names == nil {
					names = map[string]bool{}
				}
				names[name] = true
			}
		}
	}
	return names, false
}

// Temporary makes an empty file that only its owner may read. If the system supports it, the file
// has no name, and a crash leaves no file. Otherwise, and if the file has to be visible, it has the
// hidden name of base, and named is true.
func (d *Folder) Temporary(base string, seen bool) (f File, named bool, err error) {
	f = File{-1, d.Sys}
	if seen {
		f, err = d.hidden(base)
		return f, err == nil, err
	}
	err = d.Sys.Do("tmpfile", func() (err error) { f.FD, err = openUnnamed(d.FD); return err })
	if err == nil {
		return f, false, nil
	}
	f.FD = -1
	if !noUnnamed(err) {
		return f, false, err
	}
	f, err = d.hidden(base)
	return f, err == nil, err
}

// Disinherit removes the inherited access lists of a new file or directory, which owner will own
// (-1: the creating user). It does so if the parent directory belongs to another, untrusted user,
// who would otherwise have rights to the new thing.
func (d *Folder) Disinherit(f File, owner int) error {
	var in unix.Stat_t
	if err := unix.Fstat(d.FD, &in); err != nil {
		return err
	}
	switch int(in.Uid) {
	case 0, owner, d.Sys.UID():
		return nil
	}
	return DropAccessLists(f)
}

// hidden makes an empty file under the hidden name of base.
func (d *Folder) hidden(base string) (File, error) {
	if err := d.Tidy(base); err != nil {
		return File{-1, d.Sys}, err
	}
	fd, err := d.Sys.OpenAt("create", d.FD, Leftover(base),
		unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY, 0o600)
	return File{fd, d.Sys}, err
}

// Place gives a file without a name the name base. fresh means that no entry is expected there.
func (d *Folder) Place(f File, base string, fresh bool) error {
	link := func(name string) error {
		return d.Sys.Do("linkfile", func() error { return linkUnnamed(f.FD, d.FD, name) })
	}
	if fresh {
		if err := link(base); !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	if err := d.Tidy(base); err != nil {
		return err
	}
	if err := link(Leftover(base)); err != nil {
		return err
	}
	return d.Take(base)
}

// Take renames the thing at the hidden name of base to base; if that fails, Take removes it.
func (d *Folder) Take(base string) error {
	err := d.Rename(Leftover(base), base)
	if err != nil {
		_ = d.Tidy(base) // the first error is more precise
	}
	return err
}

// UnlessGone ignores the error of a thing that does not exist.
func UnlessGone(err error) error {
	if Gone(err) {
		return nil
	}
	return err
}

// Gone reports whether an error means that a thing, or a directory above it, does not exist.
func Gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// Unchanged reports whether the entry is still the one that was read.
func (d *Folder) Unchanged(base string, was *unix.Stat_t, existed bool) (bool, error) {
	var now unix.Stat_t
	err := d.Stat(base, &now)
	switch {
	case Gone(err):
		return !existed, nil
	case err != nil:
		return false, err
	}
	return existed && now.Dev == was.Dev && now.Ino == was.Ino && now.Size == was.Size &&
		now.Mtim == was.Mtim && now.Ctim == was.Ctim, nil
}

// Overwrite replaces the content of the existing file in place.
func (d *Folder) Overwrite(base string, write func(File) error) error {
	fd, err := d.Sys.OpenAt("overwrite", d.FD, base,
		unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	f := File{fd, d.Sys}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	end, err := unix.Seek(fd, 0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if err := d.Sys.Do("truncate", func() error { return unix.Ftruncate(fd, end) }); err != nil {
		return err
	}
	return f.Sync()
}

// Missing reports whether the directory does not exist.
func Missing(sys *System, dir string) bool {
	d, err := OpenFolder(sys, dir)
	if err == nil {
		d.Close()
	}
	return Gone(err)
}

// MayWrite returns why a directory cannot be written.
func MayWrite(sys *System, dir string) error {
	d, err := OpenFolder(sys, dir)
	if err != nil {
		return UnlessGone(err)
	}
	defer d.Close()
	if err = d.Writable(); err == nil {
		err = again(func() error {
			return unix.Faccessat(d.FD, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		})
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) ||
		errors.Is(err, unix.EINVAL) {
		return nil // it cannot be checked here
	}
	return err
}

// Own sets the owner and group of a symbolic link. It may omit a group that was only kept, see
// setKeeping.
func (d *Folder) Own(base string, w, asked Perm) error {
	if w.UID < 0 && w.GID < 0 {
		return nil
	}
	err := d.chown(base, w.UID, w.GID)
	if errors.Is(err, unix.EPERM) && asked.GID < 0 && w.GID >= 0 {
		err = d.chown(base, w.UID, -1)
	}
	return err
}
