package disk

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

const lockPause = 2 * time.Millisecond

// Lock waits until no other process, and no other call of this one, holds the lock of a file, and
// takes it. It is for data of a program that locks nothing itself, or does not wait. The file must
// be common to all processes that make the same change, such as the executable of that program. If
// a file cannot be locked, Lock does not wait. The caller calls unlock.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	fd, err := OpenAt(unix.AT_FDCWD, path, unix.O_RDONLY, 0)
	if err != nil {
		return func() {}, nil // an executable need not be readable
	}
	if err := WaitForLock(ctx, fd); err != nil {
		_ = unix.Close(fd)
		return nil, provider.Errorf(provider.Retryable, "wait for the lock of %s: %w", path, err)
	}
	return func() { _ = unix.Close(fd) }, nil
}

// WaitForLock takes the lock of an open file. On file systems without such locks, it does not wait.
func WaitForLock(ctx context.Context, fd int) error {
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err,
			unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}
