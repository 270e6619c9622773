package disk

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// searchOnly opens a directory that may be passed but not read.
const searchOnly = unix.O_PATH

// openUnnamed makes a file without a name.
func openUnnamed(dir int) (int, error) {
	return OpenAt(dir, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
}

// writeBack begins to write the bytes of a file. It ignores an error: fsync reports it.
func writeBack(fd int) { _ = unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }

// noUnnamed reports whether an error of openUnnamed means that the file system has no such files.
func noUnnamed(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) ||
		errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)
}

// linkUnnamed gives such a file a name. Linking it by its descriptor alone is cheaper, but older
// kernels deny it to some processes; the other way needs /proc.
func linkUnnamed(fd, dir int, name string) error {
	err := again(func() error { return unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH) })
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return again(func() error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), dir, name,
			unix.AT_SYMLINK_FOLLOW)
	})
}

// openLocked opens a file or directory of self for reading although its mode denies that. It
// examines and opens the thing by one descriptor, so that the thing cannot be replaced between the
// two.
func openLocked(dir int, name string, self int, st *unix.Stat_t) (int, error) {
	handle, err := OpenAt(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(handle)
	if err := unix.Fstat(handle, st); err != nil {
		return -1, err
	}
	kind := st.Mode & unix.S_IFMT
	if int(st.Uid) != self || kind != unix.S_IFDIR && (kind != unix.S_IFREG || st.Nlink > 1) {
		return -1, unix.EACCES
	}
	path := "/proc/self/fd/" + strconv.Itoa(handle)
	bits := st.Mode&0o7777 | unix.S_IRUSR
	if kind == unix.S_IFDIR {
		bits |= unix.S_IWUSR | unix.S_IXUSR
	}
	if err := again(func() error { return unix.Chmod(path, bits) }); err != nil {
		return -1, err
	}
	return OpenAt(unix.AT_FDCWD, path, unix.O_RDONLY, 0)
}

// chownLink changes the owner of a symbolic link. Another thing is ENOTDIR.
func chownLink(dir int, name string, uid, gid int) error {
	fd, err := OpenAt(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return unix.ENOTDIR
	}
	return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH)
}

// readLink returns the target and the owner of a symbolic link, both of the same link even if it is
// replaced concurrently. Another thing is ENOTDIR.
func readLink(dir int, name string) (target string, uid uint32, err error) {
	fd, err := OpenAt(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", 0, unix.ENOTDIR
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", 0, err
	}
	return string(buf[:n]), st.Uid, nil
}
