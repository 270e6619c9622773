package child

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// lastSignal requests a signal that the system sends to a program when this process ends.
func lastSignal(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// awaitExit waits until the leader has ended, without reaping it.
func (g *Group) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, g.PID(), &unix.Siginfo{}, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
