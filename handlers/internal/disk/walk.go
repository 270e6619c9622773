package disk

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links are followed in one path, as in the kernel.
const maxLinks = 40

// longestPath is the length that the system permits for a path, including the final zero byte.
const longestPath = 4096

// openDirPath opens a directory by its absolute path; walk documents the trusted users.
func openDirPath(sys *System, path string, flags int) (int, error) {
	return walk(path, flags, sys.UID())
}

// walker follows a path, one name after the other.
type walker struct {
	trusted []uint32 // users that need no protection checks
	fd      int      // the directory it is in
	st      unix.Stat_t
	path    string
	rest    []string // remaining names
	links   int
	doubts  []doubt
}

// doubt is a name on the path that an untrusted party may have put there.
type doubt struct {
	who  party
	link bool
	path string // of the name
}

// walk opens a directory for the user self. A user who may rename entries of a directory on the
// path can put any entry there, also a directory or a link of the superuser's. Therefore, if an
// untrusted party may have put a name there, the name must lead to a directory in which that party
// may write anyway. A directory in the party's own directory may also belong to a third user. So no
// user can have things read, written or deleted where they could not do that themselves.
func walk(path string, flags, self int) (fd int, err error) {
	if len(path) >= longestPath {
		// as the system returns, which receives only single names here
		return -1, unix.ENAMETOOLONG
	}
	w := &walker{fd: -1, rest: names(path)}
	defer func() {
		if w.fd >= 0 {
			_ = unix.Close(w.fd)
		}
	}()
	if err := w.root(); err != nil {
		return -1, err
	}
	// The owner of the root owns everything below. In a user namespace, the machine's superuser
	// appears as that owner.
	w.trusted = []uint32{0, uint32(self), w.st.Uid} // 32 bits
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return -1, err
		}
	}
	for _, d := range w.doubts {
		if err := w.refuseDoubtful(d); err != nil {
			return -1, err
		}
	}
	return OpenAt(w.fd, ".", flags|unix.O_DIRECTORY, 0)
}

// names splits a path, and omits empty and "." parts.
func names(path string) []string {
	var out []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			out = append(out, name)
		}
	}
	return out
}

func (w *walker) root() error {
	fd, err := OpenAt(unix.AT_FDCWD, "/", searchOnly|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	w.path = ""
	return w.enter(fd)
}

func (w *walker) enter(fd int) error {
	if w.fd >= 0 {
		_ = unix.Close(w.fd)
	}
	w.fd = fd
	return again(func() error { return unix.Fstat(fd, &w.st) })
}

// step follows the next name.
func (w *walker) step() error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	fd, err := OpenAt(w.fd, name, searchOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	switch {
	case err == nil:
		if name != ".." {
			w.doubt(name, false, 0)
		}
		w.path += "/" + name
		return w.enter(fd)
	case !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOTDIR):
		return err
	}
	target, uid, err := readLink(w.fd, name)
	if err != nil {
		return err
	}
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	w.doubt(name, true, uid)
	w.rest = append(names(target), w.rest...)
	if strings.HasPrefix(target, "/") {
		return w.root()
	}
	return nil
}
