package fs

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// mostLinks bounds how many symbolic links are followed in one path, as the kernel does.
const mostLinks = 40

// openDirPath opens a directory by its absolute path; see walk for the symbolic links in it.
func openDirPath(sys *system, path string, flags int) (int, error) {
	fd, err := openWithoutLinks(path, flags|unix.O_DIRECTORY)
	if err == nil || !mayHaveLinks(err) {
		return fd, err
	}
	return walk(path, flags, sys.uid())
}

// walker goes down a path, one name after the other.
type walker struct {
	self    int
	fd      int // the directory it is in
	path    string
	rest    []string // names still to go
	links   int
	foreign []foreign
}

// foreign is a link of another user that is being followed.
type foreign struct {
	path string
	uid  uint32
	left int // names still to go when its end is reached
}

// walk opens a directory for the user self and follows the symbolic links in its path, except those with which one user could lead another astray: a
// link that belongs neither to the superuser nor to self has to lead to a directory of its own owner. So nobody who may
// write in a directory on the way can have things written where they could not write themselves.
func walk(path string, flags, self int) (fd int, err error) {
	w := &walker{self: self, fd: -1, rest: names(path)}
	defer func() {
		if err != nil && w.fd >= 0 {
			_ = unix.Close(w.fd)
		}
	}()
	if err := w.root(); err != nil {
		return -1, err
	}
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return -1, err
		}
	}
	last, err := openAt(w.fd, ".", flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	_ = unix.Close(w.fd)
	return last, nil
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
	fd, err := openAt(unix.AT_FDCWD, "/", searchOnly|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	w.enter(fd)
	w.path = ""
	return nil
}

func (w *walker) enter(fd int) {
	if w.fd >= 0 {
		_ = unix.Close(w.fd)
	}
	w.fd = fd
}

// step goes one name further.
func (w *walker) step() error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	fd, err := openAt(w.fd, name, searchOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	switch {
	case err == nil:
		w.enter(fd)
		w.path += "/" + name
		return w.arrive()
	case !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOTDIR):
		return err
	}
	target, uid, err := readLink(w.fd, name)
	if err != nil {
		return err
	}
	if w.links++; w.links > mostLinks {
		return unix.ELOOP
	}
	if uid != 0 && int(uid) != w.self {
		w.foreign = append(w.foreign, foreign{w.path + "/" + name, uid, len(w.rest)})
	}
	w.rest = append(names(target), w.rest...)
	if strings.HasPrefix(target, "/") {
		if err := w.root(); err != nil {
			return err
		}
	}
	return w.arrive()
}

// arrive looks at where a link of another user has led.
func (w *walker) arrive() error {
	for len(w.foreign) > 0 {
		link := w.foreign[len(w.foreign)-1]
		if len(w.rest) > link.left {
			return nil
		}
		w.foreign = w.foreign[:len(w.foreign)-1]
		var st unix.Stat_t
		if err := unix.Fstat(w.fd, &st); err != nil {
			return err
		}
		if st.Uid != link.uid {
			return provider.Errorf(provider.NeedsChange, "the symbolic link %s belongs to user %s and leads to a directory of user %s, so it is not followed; "+
				"describe the path that it leads to, or give the link to the superuser", link.path, strconv.Itoa(int(link.uid)), strconv.Itoa(int(st.Uid)))
		}
	}
	return nil
}
