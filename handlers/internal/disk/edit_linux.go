package disk

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// accessList is the attribute with the access list of a file, which extends owner, group and
// others. defaultList is the one that new entries of a directory inherit.
const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// DropAccessLists removes the access lists of a file or a directory.
func DropAccessLists(f File) error {
	for _, name := range []string{accessList, defaultList} {
		if err := unlessRefused(f.Sys.Do("fremovexattr",
			func() error { return unix.Fremovexattr(f.FD, name) })); err != nil {
			return err
		}
	}
	return nil
}

// CopyAttributes copies the extended attributes of a file to another, including security labels,
// and, if lists is true, access lists. It omits attributes that give rights to the process that
// runs the file, and signatures of its bytes, which do not apply to other bytes. It also omits
// attributes that may not be copied.
func CopyAttributes(from, to File, lists bool) error {
	size, err := unix.Flistxattr(from.FD, nil)
	if err != nil || size == 0 {
		return unlessRefused(err)
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(from.FD, names); err != nil {
		return unlessRefused(err)
	}
	for name := range strings.SplitSeq(string(names[:size]), "\x00") {
		if name == "" || name == "security.capability" || name == "security.ima" ||
			name == "security.evm" || name == accessList && !lists {
			continue
		}
		size, err := unix.Fgetxattr(from.FD, name, nil)
		value := make([]byte, max(size, 0))
		if err == nil && size > 0 {
			size, err = unix.Fgetxattr(from.FD, name, value)
		}
		if err == nil {
			err = to.Sys.Do("fsetxattr",
				func() error { return unix.Fsetxattr(to.FD, name, value[:size], 0) })
		}
		if err := unlessRefused(err); err != nil {
			return err
		}
	}
	return nil
}

// unlessRefused ignores errors which mean that the attribute is not supported here, or not for this
// user.
func unlessRefused(err error) error {
	for _, e := range []error{unix.EOPNOTSUPP, unix.ENOSYS, unix.ENODATA, unix.EPERM, unix.EACCES} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// OpenRoot opens an open directory again, as a root that no path leaves.
func OpenRoot(d *Folder) (*os.Root, error) {
	return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(d.FD))
}

// SyncAll makes all written data of a file system durable.
func SyncAll(fd int) error { return unix.Syncfs(fd) }
