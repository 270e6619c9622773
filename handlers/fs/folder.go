package fs

import (
	"errors"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// folder is an opened directory. Its methods name things in it and never follow a symbolic link.
// Errors are those of the system.
type folder struct {
	sys  *system
	path string
	fd   int
	// blind says that the directory may be passed but not opened for reading, so that it cannot be
	// synced.
	blind bool
}

// openFolder opens a directory; symbolic links in its path are followed where that is safe, see
// walk. The caller closes it.
func openFolder(sys *system, path string) (*folder, error) {
	fd, err := openDirPath(sys, path, unix.O_RDONLY)
	if err == nil {
		return &folder{sys: sys, path: path, fd: fd}, nil
	}
	if !errors.Is(err, unix.EACCES) {
		return nil, err
	}
	if fd, err = openDirPath(sys, path, searchOnly); err != nil {
		return nil, err
	}
	return &folder{sys: sys, path: path, fd: fd, blind: true}, nil
}

func (d *folder) close() { _ = unix.Close(d.fd) }

// sync makes the entries durable.
func (d *folder) sync() error { return openFile{d.fd, d.sys}.sync() }

// there reports that the directory is not the one under its path any more: what was changed in it
// is elsewhere now, or gone.
func (d *folder) there() error {
	var it, now unix.Stat_t
	if err := unix.Fstat(d.fd, &it); err != nil {
		return err
	}
	if err := again(func() error { return unix.Stat(d.path, &now) }); err != nil {
		return err
	}
	if it.Dev != now.Dev || it.Ino != now.Ino {
		return provider.Errorf(provider.Retryable, "something else put another directory in the place of %s meanwhile", d.path)
	}
	return nil
}

// writable refuses what could not be made durable, before it is begun.
func (d *folder) writable() error {
	if d.blind {
		return unix.EACCES
	}
	return nil
}

// stat describes what is there, a symbolic link itself.
func (d *folder) stat(base string, st *unix.Stat_t) error {
	return d.sys.statAt(d.fd, base, st)
}

// open opens a thing for reading and describes it. It does not wait for the other end of a pipe. A
// symbolic link is ELOOP.
func (d *folder) open(base string, st *unix.Stat_t) (fd int, err error) {
	fd, err = d.sys.openAt("open", d.fd, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	if err := again(func() error { return unix.Fstat(fd, st) }); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openDir opens a directory in it.
func (d *folder) openDir(base string) (openFile, error) {
	fd, err := d.sys.openAt("opendir", d.fd, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	return openFile{fd, d.sys}, err
}

// locked reports whether a thing cannot be read only because it has lost the right of its owner,
// this user, to do so, which it is wanted to have.
func (d *folder) locked(st *unix.Stat_t, want wanted) bool {
	return int(st.Uid) == d.sys.uid() && st.Mode&unix.S_IRUSR == 0 && want.mode >= 0 && want.mode&unix.S_IRUSR != 0
}

// unlock opens a thing of this user that its mode keeps even its owner from reading, and describes
// it. It allows reading first: who calls sets another mode. EACCES says that it is another's, or
// has further names.
func (d *folder) unlock(base string, st *unix.Stat_t) (fd int, err error) {
	err = d.sys.do("unlock", func() error { fd, err = openLocked(d.fd, base, d.sys.uid(), st); return err })
	return fd, err
}

// remove takes an entry that is not a directory away; one that is gone is fine.
func (d *folder) remove(base string) error {
	return unlessGone(d.sys.do("unlink", func() error { return unix.Unlinkat(d.fd, base, 0) }))
}

// removeDir takes an empty directory away; one that is gone is fine.
func (d *folder) removeDir(base string) error {
	return unlessGone(d.sys.do("rmdir", func() error { return unix.Unlinkat(d.fd, base, unix.AT_REMOVEDIR) }))
}

// rename gives a thing another name, in place of what has that name.
func (d *folder) rename(from, to string) error {
	return d.sys.do("rename", func() error { return unix.Renameat(d.fd, from, d.fd, to) })
}

// hardLink gives a thing a second name, which must be free.
func (d *folder) hardLink(from, to string) error {
	return d.sys.do("link", func() error { return unix.Linkat(d.fd, from, d.fd, to, 0) })
}

// symLink makes a symbolic link; its name must be free.
func (d *folder) symLink(target, base string) error {
	return d.sys.do("symlink", func() error { return unix.Symlinkat(target, d.fd, base) })
}

// readLink returns what a symbolic link points to, as far as buf can hold it.
func (d *folder) readLink(base string, buf []byte) (target string, err error) {
	n := 0
	err = d.sys.do("readlink", func() error { n, err = unix.Readlinkat(d.fd, base, buf); return err })
	return string(buf[:max(n, 0)]), err
}

// makeDir makes a directory that only its owner may enter; its name must be free.
func (d *folder) makeDir(base string) error {
	return d.sys.do("mkdir", func() error { return unix.Mkdirat(d.fd, base, 0o700) })
}

// chown gives a symbolic link, and nothing else that has come to its name meanwhile, another owner.
func (d *folder) chown(base string, uid, gid int) error {
	return d.sys.do("fchownat", func() error { return chownLink(d.fd, base, uid, gid) })
}

// tidy removes what a crash may have left behind of base.
func (d *folder) tidy(base string) error {
	name := leftover(base)
	var st unix.Stat_t
	if err := d.stat(name, &st); err != nil {
		return unlessGone(err) // nearly always: asking is cheaper than removing, which locks the directory
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return d.removeDir(name)
	}
	return d.remove(name)
}

// temporary makes an empty file that only its owner may read. Where the system can, the file has no
// name, and a crash leaves nothing; else, and when it has to be seen, it has the hidden name of
// base, and named is true.
func (d *folder) temporary(base string, seen bool) (f openFile, named bool, err error) {
	f = openFile{-1, d.sys}
	if seen {
		f, err = d.hidden(base)
		return f, err == nil, err
	}
	err = d.sys.do("tmpfile", func() (err error) { f.fd, err = openUnnamed(d.fd); return err })
	if err == nil {
		return f, false, nil
	}
	f.fd = -1
	if !noUnnamed(err) {
		return f, false, err
	}
	f, err = d.hidden(base)
	return f, err == nil, err
}

// hidden makes an empty file under the hidden name of base.
func (d *folder) hidden(base string) (openFile, error) {
	if err := d.tidy(base); err != nil {
		return openFile{-1, d.sys}, err
	}
	fd, err := d.sys.openAt("create", d.fd, leftover(base), unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY, 0o600)
	return openFile{fd, d.sys}, err
}

// place gives a file without a name the name base. fresh says that nothing is expected there.
func (d *folder) place(f openFile, base string, fresh bool) error {
	link := func(name string) error {
		return d.sys.do("linkfile", func() error { return linkUnnamed(f.fd, d.fd, name) })
	}
	if fresh {
		if err := link(base); !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	if err := d.tidy(base); err != nil {
		return err
	}
	if err := link(leftover(base)); err != nil {
		return err
	}
	return d.take(base)
}

// take renames what stands under the hidden name of base to base; when it cannot, it removes it.
func (d *folder) take(base string) error {
	err := d.rename(leftover(base), base)
	if err != nil {
		_ = d.tidy(base) // the error that led here tells more
	}
	return err
}

// unlessGone takes the error of what does not exist away.
func unlessGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// gone reports whether an error says that a thing, or a directory above it, does not exist.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }
