package fs

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// openSource opens an archive on this machine. The caller closes it.
func openSource(path string) (*os.File, error) {
	at := path
	var givers []uint32
	for range maxSourceLinks {
		f, next, err := openOrFollow(at, &givers)
		switch {
		case disk.Gone(err):
			return nil, provider.Errorf(provider.Retryable, "there is no archive %s", path)
		case err != nil:
			return nil, err
		case f != nil:
			return f, given(f, path, givers)
		}
		at = next
	}
	return nil, unix.ELOOP
}

// maxSourceLinks is how many links may lead to an archive, as in the kernel.
const maxSourceLinks = 40

// openOrFollow opens a file, or returns the target of a link at its path. It adds to givers the
// users who may have put the link there, other than the superuser and the user of this process.
func openOrFollow(path string, givers *[]uint32) (f *os.File, next string, err error) {
	dir, base := disk.Split(path)
	d, err := disk.OpenFolder(nil, dir)
	if err != nil {
		return nil, "", err
	}
	defer d.Close()
	var st, parent unix.Stat_t
	fd, err := d.Open(base, &st) // does not wait for the other end of a pipe
	if err == nil {
		return os.NewFile(uintptr(fd), path), "", nil
	}
	if !errors.Is(err, unix.ELOOP) {
		return nil, "", err
	}
	if err := errors.Join(d.Stat(base, &st), unix.Fstat(d.FD, &parent)); err != nil {
		return nil, "", err
	}
	if parent.Mode&unix.S_IWOTH != 0 && parent.Mode&unix.S_ISVTX == 0 {
		return nil, "", provider.Errorf(provider.NeedsChange,
			"everybody may have put the symbolic link %s there, so it is not followed; describe "+
				"the path that it leads to", path)
	}
	for _, uid := range []uint32{st.Uid, parent.Uid} {
		if uid != 0 && int(uid) != os.Geteuid() {
			*givers = append(*givers, uid)
		}
	}
	target, err := d.ReadLink(base, make([]byte, unix.PathMax))
	if err == nil && !strings.HasPrefix(target, "/") {
		target = dir + "/" + target
	}
	return nil, target, err
}

// given rejects an archive that is no regular file. It also rejects a link of a user to whom the
// file does not belong: such a user could otherwise have unreadable files read.
func given(f *os.File, path string, givers []uint32) error {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = provider.Errorf(provider.NeedsChange, "%s is not a regular file", path)
	}
	for _, uid := range givers {
		if err == nil && uid != st.Uid {
			err = provider.Errorf(provider.NeedsChange,
				"a symbolic link on the way to %s may have been put there by the user %d, and "+
					"leads to a file of the user %d, so it is not followed; describe the path "+
					"that it leads to", path, uid, st.Uid)
		}
	}
	if err != nil {
		_ = f.Close()
	}
	return err
}
