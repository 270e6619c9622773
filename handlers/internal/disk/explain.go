package disk

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// advice is the class of an error of the file system, and a hint for people.
type advice struct {
	errs  []error
	class provider.Class
	hint  string
	// toRoot is the hint for the superuser, if it differs.
	toRoot string
}

// adviceTo returns the hint for a user: the superuser need not become the superuser.
func (a advice) adviceTo(uid int) string {
	if uid == 0 && a.toRoot != "" {
		return a.toRoot
	}
	return a.hint
}

// Causes that deny an operation even to the superuser.
const (
	rootDenied = "not even the superuser may: a security policy (SELinux, AppArmor), a container " +
		"without that right or a network file system can forbid it"
	rootFlag = rootDenied + ", and so can an immutable flag (lsattr)"
)

func advices() []advice {
	return []advice{
		{[]error{unix.ENOSPC, unix.EDQUOT}, provider.Retryable, "make room on the disk", ""},
		{[]error{unix.EROFS}, provider.Terminal,
			"the file system is read-only; mount it for writing", ""},
		{[]error{unix.EACCES}, provider.Terminal, "run it as a user that may, such as root",
			rootDenied},
		{[]error{unix.EPERM}, provider.Terminal,
			"run it as a user that may, such as root; an immutable flag (lsattr) forbids it to " +
				"everybody", rootFlag},
		{[]error{unix.ENOTDIR}, provider.NeedsChange, "something above it is not a directory", ""},
		{[]error{unix.ENOENT}, provider.Retryable,
			"the directory above it does not exist; describe that, too", ""},
		{[]error{unix.EISDIR}, provider.NeedsChange,
			"the path holds a directory; remove it, or describe it by another type", ""},
		{[]error{unix.ENOTEMPTY, unix.EEXIST}, provider.NeedsChange,
			"it is not empty; set recurse_purge to remove its contents", ""},
		{[]error{unix.ENAMETOOLONG, unix.EINVAL, unix.ELOOP}, provider.NeedsChange,
			"choose another path", ""},
		{[]error{unix.EFBIG}, provider.NeedsChange,
			"the file system, or a limit of the process, does not allow files of this size", ""},
		{[]error{unix.EBUSY, unix.ETXTBSY}, provider.Retryable,
			"something uses it, or is mounted there", ""},
		{[]error{unix.EMFILE, unix.ENFILE}, provider.Retryable,
			"too many files are open; raise the limit (ulimit -n)", ""},
		{[]error{unix.EMLINK}, provider.Terminal, "it has as many links as the file system allows",
			""},
		{[]error{unix.EIO}, provider.Retryable,
			"the disk or the network under it fails; see the log of the kernel", ""},
	}
}

// Explain adds a class and a hint to an error of the file system; what is a verb phrase: "write
// /etc/motd". nil stays nil, and an error that has a class keeps it.
func Explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return provider.Errorf(provider.Retryable, "%s: %w", what, err)
	}
	for _, a := range advices() {
		for _, e := range a.errs {
			if errors.Is(err, e) {
				return provider.Errorf(a.class, "%s: %w; %s", what, err, a.adviceTo(os.Geteuid()))
			}
		}
	}
	return provider.Errorf(provider.ClassOf(err), "%s: %w", what, err)
}
