// Package flock waits for locks of open files and folders, which the system releases when their holder
// ends.
package flock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"southbound/shared/fault"
)

// again is the time between two tries.
const again = 100 * time.Millisecond

// Lock locks an open file or folder, and waits until no other process or file has the lock. Closing f
// releases it. waiting is called once if Lock has to wait. Lock returns Canceled if ctx ends first, and
// Unavailable if the file system has no locks.
func Lock(ctx context.Context, f *os.File, waiting func()) error {
	for waited := false; ; waited = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fault.Wrap(fault.Unavailable, "lock "+f.Name(), err)
		case !waited:
			waiting()
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return fault.Wrap(fault.Canceled, "lock "+f.Name(), ctx.Err())
		}
	}
}
