package fs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// system makes the calls that reach the disk, but those that read bytes. nil is the real one; tests
// stop or fail each call, have something happen before it, or take away what some file systems
// lack.
type system struct {
	before func(call string) error // is asked before each call; its error becomes that of the call
	self   int                     // the user that tests run as; 0: the one of this process
}

// uid is the user that changes are made as.
func (s *system) uid() int {
	if s != nil && s.self != 0 {
		return s.self
	}
	return os.Geteuid()
}

// do makes one call, and makes it again when a signal interrupted it.
func (s *system) do(call string, f func() error) error {
	if s != nil && s.before != nil {
		if err := s.before(call); err != nil {
			return err
		}
	}
	return again(f)
}

// again repeats what a signal interrupted.
func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// openAt opens a thing below an open directory.
func (s *system) openAt(call string, dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = s.do(call, func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// statAt describes a thing below an open directory, a symbolic link itself.
func (s *system) statAt(dir int, name string, st *unix.Stat_t) error {
	return s.do("stat", func() error { return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

func openAt(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// openFile is an open file as a reader and writer.
type openFile struct {
	fd  int
	sys *system
}

// Read implements io.Reader.
func (f openFile) Read(p []byte) (n int, err error) {
	err = again(func() error { n, err = unix.Read(f.fd, p); return err })
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// rewind goes back to the beginning.
func (f openFile) rewind() error {
	_, err := unix.Seek(f.fd, 0, io.SeekStart)
	return err
}

// Write implements io.Writer.
func (f openFile) Write(p []byte) (done int, err error) {
	for done < len(p) {
		n := 0
		err = f.sys.do("write", func() error { n, err = unix.Write(f.fd, p[done:]); return err })
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// empty refuses a directory that has something in it. One that was just made has nothing: it is
// another one that somebody put in its place, and is given to nobody.
func (f openFile) empty() error {
	buf := make([]byte, 1024)
	n := 0
	err := again(func() (err error) { n, err = unix.ReadDirent(f.fd, buf); return err })
	if _, count, _ := unix.ParseDirent(buf[:max(n, 0)], 1, nil); err == nil && count > 0 {
		err = provider.Errorf(provider.Retryable, "something else put another directory in the place of the new one")
	}
	return err
}

func (f openFile) sync() error {
	return f.sys.do("fsync", func() error { return unix.Fsync(f.fd) })
}

func (f openFile) chown(uid, gid int) error {
	return f.sys.do("fchown", func() error { return unix.Fchown(f.fd, uid, gid) })
}

func (f openFile) chmod(mode int) error {
	return f.sys.do("fchmod", func() error { return unix.Fchmod(f.fd, uint32(mode)) }) //nolint:gosec // 12 bits
}

// close closes it, if it is open. What was written is synced before, so closing has nothing to
// report.
func (f *openFile) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd)
		f.fd = -1
	}
}
