package postgresql

import (
	"context"
	"net"
	"runtime"

	"golang.org/x/sys/unix"

	"southbound/shared/fault"
)

// dialFrom connects as another user. The system identifies the connecting thread to the server by
// its user at that moment (unix(7), SO_PEERCRED). Therefore only this thread, and not the process,
// has that user during the call.
func dialFrom(ctx context.Context, uid int, network, address string) (net.Conn, error) {
	type answer struct {
		conn net.Conn
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		runtime.LockOSThread()
		if err := becomeThread(uid); err != nil {
			runtime.UnlockOSThread()
			done <- answer{err: fault.Wrap(fault.Denied, "connect as the user of the server", err)}
			return
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if becomeThread(0) == nil {
			runtime.UnlockOSThread()
		} // otherwise the thread ends with this goroutine, and is not reused
		done <- answer{conn, err}
	}()
	a := <-done
	return a.conn, a.err
}

// becomeThread changes the effective user of the calling thread.
func becomeThread(uid int) error {
	const same = ^uintptr(0)
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); e != 0 {
		return e
	}
	return nil
}
