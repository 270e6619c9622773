package pkg

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
)

// owner returns the user that must run programs that work on a root: its owner. The files in the
// root, such as an interpreter, settings or links, are code of any user who can write there. That
// code must not get more rights than that user. A nil result is the user of this process. The
// parameter parts has patterns of the files that determine which code runs. All of them must belong
// to one owner, or to the superuser.
func (p place) owner(parts ...string) (*tool.User, error) {
	if p.root == "" {
		return nil, nil
	}
	d, err := disk.OpenFolder(nil, p.root)
	if err != nil && !disk.Gone(err) {
		return nil, disk.Explain("reach "+p.root, err)
	}
	var who *tool.User
	if err == nil {
		defer d.Close()
		var st syscall.Stat_t
		if err := syscall.Fstat(d.FD, &st); err != nil {
			return nil, provider.Errorf(provider.Retryable, "look at %s: %w", p.root, err)
		}
		if !trusted(st.Uid) {
			who = tool.UserOf(st.Uid, st.Gid)
		}
	}
	if who != nil && os.Geteuid() != 0 {
		return nil, provider.Errorf(provider.NeedsChange,
			"%s belongs to the user %d, whose code in it would run as the user %d; manage it as "+
				"its owner or as the superuser, or give it to %[3]d", p.root, who.UID, os.Geteuid())
	}
	return who, p.safe(who, parts)
}

// system rejects a root in which code of another user would run as the superuser. Package managers
// of a system have to run as the superuser there: they chroot, and give files to other users. The
// files in the root determine the code that runs, even before the chroot and outside of it: apt,
// dnf and apk read settings, hooks and plugins there. Ignoring the settings of a root would not
// help: the scripts of packages run the root's programs, and some settings have to be those of the
// root.
func (p place) system(parts ...string) error {
	who, err := p.owner(append([]string{"bin", "sbin", "lib", "usr", "usr/bin", "usr/sbin",
		"usr/lib", "etc", "var", "var/lib", "var/cache"}, parts...)...)
	if err != nil || who == nil {
		return err
	}
	return provider.Errorf(provider.NeedsChange,
		"%s belongs to the user %d: settings, scripts and programs in it would run as the "+
			"superuser; give it and its system directories to the superuser (chown)", p.root,
		who.UID)
}

// trusted reports whether a user has no rights that this process lacks. Such users are the
// superuser, the user of this process and, in a user namespace, the superuser of the machine.
func trusted(uid uint32) bool {
	var root syscall.Stat_t
	return uid == 0 || int(uid) == os.Geteuid() ||
		syscall.Stat("/", &root) == nil && uid == root.Uid
}

// safe rejects a root if another user could put code in it, or in a directory on the path to it.
func (p place) safe(who *tool.User, parts []string) error {
	mine := func(st *syscall.Stat_t) bool {
		return trusted(st.Uid) || who != nil && st.Uid == who.UID
	}
	closed := func(st *syscall.Stat_t) bool {
		// Any user but the superuser may share their own files with a group.
		group := who != nil || os.Geteuid() != 0 || st.Gid == 0 || int(st.Gid) == os.Getegid()
		return st.Mode&syscall.S_IFMT == syscall.S_IFLNK || st.Mode&syscall.S_ISVTX != 0 ||
			st.Mode&0o002 == 0 && (group || st.Mode&0o020 == 0)
	}
	whole := func(path string) error { return ofOne(path, mine, closed) }
	for _, part := range append([]string{"."}, parts...) {
		for _, path := range within(p.root, part) {
			if err := whole(path); err != nil {
				return err
			}
			if who != nil {
				continue // the owner could only redirect code to files with the owner's own rights
			}
			if err := unreachable(path, whole); err != nil {
				return err
			}
		}
	}
	return nil
}

// within returns the entries of a directory that match a pattern. Meta characters in the
// directory's name are literal.
func within(dir, pattern string) []string {
	plain := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
	found, _ := filepath.Glob(filepath.Join(plain, pattern)) // the patterns are right
	return found
}

// ofOne rejects a file that belongs to another user, or that other users may change.
func ofOne(path string, mine, closed func(st *syscall.Stat_t) bool) error {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return provider.Errorf(provider.Retryable, "look at %s, which is to run: %w", path, err)
	case !mine(&st):
		return provider.Errorf(provider.NeedsChange,
			"%s belongs to the user %d, and code in it would run as another one; give all of it "+
				"to one user (chown -R)", path, st.Uid)
	case !closed(&st) && st.Mode&0o002 != 0:
		return provider.Errorf(provider.NeedsChange,
			"everybody may change %s, and code in it would run as the user of this process; take "+
				"that right away (chmod o-w)", path)
	case !closed(&st):
		return provider.Errorf(provider.NeedsChange,
			"the group %d may change %s, and code in it would run as the user of this process; "+
				"take that right away (chmod g-w)", st.Gid, path)
	}
	return nil
}

// unreachable rejects a file that another user could replace, in one of the directories above it:
// by its path, and by the path to which links lead.
func unreachable(path string, whole func(path string) error) error {
	leads, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		leads = path // a dangling link runs nothing
	} else if err != nil {
		return provider.Errorf(provider.Retryable, "check the programs to run: %w", err)
	}
	for _, at := range []string{filepath.Dir(path), leads} {
		for ; ; at = filepath.Dir(at) {
			if err := whole(at); err != nil {
				return err
			}
			if at == "/" {
				break
			}
		}
	}
	return nil
}

// maxAbout is how many bytes are read of a file that describes a package.
const maxAbout = 1 << 20

// about reads the beginning of a regular file. It does not block on a pipe or read a device, which
// a user who can write in the root may have put there.
func about(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, provider.Errorf(provider.NeedsChange, "%s is no regular file; remove it", path)
	}
	return io.ReadAll(io.LimitReader(f, maxAbout))
}
