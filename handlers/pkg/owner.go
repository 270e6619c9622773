package pkg

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
)

// owner returns the user that has to run what works on a root: its owner. What is in it, as an
// interpreter, settings or links, is code of whoever can write there, and is to get no more rights
// than they have. nil is the user of this process. parts are patterns of what in the root decides
// which code runs; all of it has to be of one owner, or of the superuser.
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

// trusted reports whether the rights of a user are none that this process lacks: it is the
// superuser, the one of this process, or, in a user namespace, the superuser of the machine.
func trusted(uid uint32) bool {
	var root syscall.Stat_t
	return uid == 0 || int(uid) == os.Geteuid() ||
		syscall.Stat("/", &root) == nil && uid == root.Uid
}

// safe refuses a root in which, or on the way to which, somebody else could put code.
func (p place) safe(who *tool.User, parts []string) error {
	mine := func(uid uint32) bool { return trusted(uid) || who != nil && uid == who.UID }
	for _, part := range append([]string{"."}, parts...) {
		found, _ := filepath.Glob(filepath.Join(p.root, part)) // the patterns are right
		for _, path := range found {
			if err := ofOne(path, mine); err != nil {
				return err
			}
			if who != nil {
				continue // who leads that astray gets what they can do themselves
			}
			if err := unreachable(path, mine); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofOne refuses what belongs to somebody else, or what everybody may change.
func ofOne(path string, mine func(uint32) bool) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return provider.Errorf(provider.Retryable, "look at what is to run: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch open := info.Mode()&fs.ModeSymlink == 0 && info.Mode()&0o002 != 0; {
	case ok && !mine(st.Uid):
		return provider.Errorf(provider.NeedsChange,
			"%s belongs to the user %d, and code in it would run as another one; give all of it "+
				"to one user (chown -R)", path, st.Uid)
	case open && info.Mode()&fs.ModeSticky == 0:
		return provider.Errorf(provider.NeedsChange,
			"everybody may change %s, and code in it would run as the user of this process; take "+
				"that right away (chmod o-w)", path)
	}
	return nil
}

// unreachable refuses what somebody else could exchange, in one of the directories above it: by its
// path, and where that leads.
func unreachable(path string, mine func(uint32) bool) error {
	leads, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		leads = path // a link that leads nowhere runs nothing
	} else if err != nil {
		return provider.Errorf(provider.Retryable, "look at what is to run: %w", err)
	}
	for _, at := range []string{filepath.Dir(path), leads} {
		for ; ; at = filepath.Dir(at) {
			if err := ofOne(at, mine); err != nil {
				return err
			}
			if at == "/" {
				break
			}
		}
	}
	return nil
}

// maxAbout is how much of a file that describes a package is read.
const maxAbout = 1 << 20

// about reads the beginning of a regular file. It waits for no pipe, and reads no device, which
// whoever can write in a root may have put in the place of one.
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
