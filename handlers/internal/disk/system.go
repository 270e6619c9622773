// Package disk changes the entries of a directory, only through open directories and files. It does
// not follow symbolic links where that is unsafe, and a change that is reported as done is on the
// disk. New things first get a hidden name that is derived from the final one (see Leftover). The
// next run therefore finds and removes the remains of a crash.
package disk

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// System makes the system calls that change or sync files, but not reads of bytes. nil is the real
// one; tests stop or fail each call, run code before it, or disable features that some file systems
// lack.
type System struct {
	Before func(call string) error // called before each call; its error becomes that of the call
	Self   int                     // the user of tests; 0: the one of this process
}

// UID is the user that makes the changes.
func (s *System) UID() int {
	if s != nil && s.Self != 0 {
		return s.Self
	}
	return os.Geteuid()
}

// Do makes one call, and repeats it if a signal interrupted it.
func (s *System) Do(call string, f func() error) error {
	if s != nil && s.Before != nil {
		if err := s.Before(call); err != nil {
			return err
		}
	}
	return again(f)
}

// again repeats a call that a signal interrupted.
func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// OpenAt opens a thing relative to an open directory.
func (s *System) OpenAt(
	call string, dir int, name string, flags int, mode uint32,
) (fd int, err error) {
	err = s.Do(call, func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// StatAt describes a thing relative to an open directory, a symbolic link itself.
func (s *System) StatAt(dir int, name string, st *unix.Stat_t) error {
	return s.Do("stat", func() error {
		return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
	})
}

func OpenAt(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// File is an open file as a reader and writer.
type File struct {
	FD  int
	Sys *System
}

// Read implements io.Reader.
func (f File) Read(p []byte) (n int, err error) {
	err = again(func() error { n, err = unix.Read(f.FD, p); return err })
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Rewind seeks to the beginning.
func (f File) Rewind() error {
	_, err := unix.Seek(f.FD, 0, io.SeekStart)
	return err
}

// Write implements io.Writer.
func (f File) Write(p []byte) (done int, err error) {
	for done < len(p) {
		n := 0
		err = f.Sys.Do("write", func() error { n, err = unix.Write(f.FD, p[done:]); return err })
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// Empty rejects a directory that has entries. A directory that was just made is empty: one with
// entries has replaced it, and must not get a new owner.
func (f File) Empty() error {
	buf := make([]byte, 1024)
	n := 0
	err := again(func() (err error) { n, err = unix.ReadDirent(f.FD, buf); return err })
	if _, count, _ := unix.ParseDirent(buf[:max(n, 0)], 1, nil); err == nil && count > 0 {
		err = provider.Errorf(provider.Retryable,
			"something else put another directory in the place of the new one")
	}
	return err
}

// WriteBack makes the system begin to write the bytes to the disk, if it supports that. Only Sync
// waits for them, and reports errors. If many files are being written, the first sync commits the
// file system's journal for all of them.
func (f File) WriteBack() { writeBack(f.FD) }

// Sync makes the file durable.
func (f File) Sync() error {
	return f.Sys.Do("fsync", func() error { return unix.Fsync(f.FD) })
}

func (f File) chown(uid, gid int) error {
	return f.Sys.Do("fchown", func() error { return unix.Fchown(f.FD, uid, gid) })
}

func (f File) Chmod(mode int) error {
	return f.Sys.Do("fchmod", func() error { return unix.Fchmod(f.FD, uint32(mode)) }) // 12 bits
}

// Close closes the file, if it is open. Written bytes were synced before, so closing has no error
// to report.
func (f *File) Close() {
	if f.FD >= 0 {
		_ = unix.Close(f.FD)
		f.FD = -1
	}
}
