package disk

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// accessList is the attribute that holds who may do what beside owner, group and others, and
// defaultList that which what is made in a directory inherits.
const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// DropAccessLists takes the access lists of a file or a directory away, if it has some.
func DropAccessLists(f File) error {
	for _, name := range []string{accessList, defaultList} {
		if err := unlessRefused(f.Sys.Do("fremovexattr",
			func() error { return unix.Fremovexattr(f.FD, name) })); err != nil {
			return err
		}
	}
	return nil
}

// CopyAttributes gives a file the extended attributes of another, security labels among them, and,
// if lists is true, access lists. Those that give rights to who runs the file, and those that sign
// its bytes, are not for other bytes. What may not be copied is left out.
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

// unlessRefused takes the errors away that say that there is no such attribute here, or not for
// everybody.
func unlessRefused(err error) error {
	for _, e := range []error{unix.EOPNOTSUPP, unix.ENOSYS, unix.ENODATA, unix.EPERM, unix.EACCES} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// OpenRoot opens a directory that is open once more, as a root that nothing leads out of.
func OpenRoot(d *Folder) (*os.Root, error) {
	return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(d.FD))
}

// SyncAll makes all that was written on a file system durable.
func SyncAll(fd int) error { return unix.Syncfs(fd) }
