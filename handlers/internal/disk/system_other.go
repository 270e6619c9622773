//go:build !linux

package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

// searchOnly opens a directory that may be passed but not read; this system has no such mode.
const searchOnly = unix.O_RDONLY

// openUnnamed returns an error, since this system has no files without a name.
func openUnnamed(int) (int, error) { return -1, unix.ENOSYS }

// writeBack does nothing: the bytes are written when the file is synced.
func writeBack(int) {}

// noUnnamed reports whether an error of openUnnamed means that there are no such files.
func noUnnamed(err error) bool { return errors.Is(err, unix.ENOSYS) }

// linkUnnamed is never called.
func linkUnnamed(int, int, string) error { return unix.ENOSYS }

// openLocked returns an error, since this system has no such way.
func openLocked(int, string, int, *unix.Stat_t) (int, error) { return -1, unix.EACCES }

// chownLink changes the owner of a symbolic link.
func chownLink(dir int, name string, uid, gid int) error {
	return unix.Fchownat(dir, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

// readLink returns the target and the owner of a symbolic link. Another thing is ENOTDIR.
func readLink(dir int, name string) (target string, uid uint32, err error) {
	buf := make([]byte, 4096)
	var before, after unix.Stat_t
	if err := unix.Fstatat(dir, name, &before, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", 0, err
	}
	if before.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", 0, unix.ENOTDIR
	}
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", 0, err
	}
	if err := unix.Fstatat(dir, name, &after, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", 0, err
	}
	if before.Ino != after.Ino || before.Dev != after.Dev {
		return "", 0, unix.ELOOP // it is being replaced concurrently
	}
	return string(buf[:n]), before.Uid, nil
}
