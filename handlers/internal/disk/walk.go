package disk

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks bounds how many symbolic links are followed in one path, as the kernel does.
const maxLinks = 40

// longestPath is what the system takes as a path, with the byte that ends it.
const longestPath = 4096

// openDirPath opens a directory by its absolute path; see walk for whom it trusts on the way.
func openDirPath(sys *System, path string, flags int) (int, error) {
	return walk(path, flags, sys.UID())
}

// walker goes down a path, one name after the other.
type walker struct {
	trusted []uint32 // users whom nobody need be protected from
	fd      int      // the directory it is in
	st      unix.Stat_t
	path    string
	rest    []string // names still to go
	links   int
	doubts  []doubt
}

// doubt is a name on the way that may have been put where it is by somebody who is not trusted.
type doubt struct {
	who  party
	link bool
	path string // of the name
}

// walk opens a directory for the user self. Whoever may rename things in a directory on the way can
// put there what they like, also a directory or a link of the superuser's. So a name that somebody
// could have put there who is neither the superuser nor self has to lead to a directory that they
// may write in anyway; a directory in a directory of theirs may also belong to a third user. So
// nobody can have things read, written or deleted where they could not do that themselves.
func walk(path string, flags, self int) (fd int, err error) {
	if len(path) >= longestPath {
		// as the system says, which is given one name after the other here
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
	// Who owns the root has everything below. In a user namespace that is how the machine's
	// superuser looks.
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

// names splits a path, and leaves out what does not lead anywhere.
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

// step goes one name further.
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
