package providertest

import (
	"os"
	"runtime/debug"
	"syscall"
)

// divert lets what the process writes to its standard error go to a file, until back is called: to
// the descriptor 2, and to os.Stderr where that is another one, as it is for go test -json. What the
// process says when it crashes, or a test has no time left, goes to where it went before as well.
func divert(to *os.File) (back func()) {
	const stderr = 2
	backs := []func(){crashesTo(stderr), redirect(stderr, to)}
	if fd := int(os.Stderr.Fd()); fd != stderr {
		backs = append(backs, redirect(fd, to))
	}
	return func() {
		for _, b := range backs {
			b()
		}
	}
}

// crashesTo has the process write to a descriptor as it is now why it crashes, until back is called.
func crashesTo(fd int) (back func()) {
	saved, err := syscall.Dup(fd)
	if err != nil {
		return func() {}
	}
	syscall.CloseOnExec(saved)
	f := os.NewFile(uintptr(saved), "standard error")
	if debug.SetCrashOutput(f, debug.CrashOptions{}) != nil {
		_ = f.Close()
		return func() {}
	}
	return func() {
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
		_ = f.Close()
	}
}

// redirect lets a descriptor be that of a file, until back is called.
func redirect(fd int, to *os.File) (back func()) {
	saved, err := syscall.Dup(fd)
	if err != nil {
		return func() {}
	}
	syscall.CloseOnExec(saved)
	if err := syscall.Dup3(int(to.Fd()), fd, 0); err != nil {
		_ = syscall.Close(saved)
		return func() {}
	}
	return func() {
		_ = syscall.Dup3(saved, fd, 0)
		_ = syscall.Close(saved)
	}
}
