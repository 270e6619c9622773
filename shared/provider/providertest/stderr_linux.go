package providertest

import (
	"os"
	"syscall"
)

// divert lets what the process writes to its standard error go to a file, until back is called.
func divert(to *os.File) (back func()) {
	const stderr = 2
	saved, err := syscall.Dup(stderr)
	if err != nil {
		return func() {}
	}
	syscall.CloseOnExec(saved)
	if err := syscall.Dup3(int(to.Fd()), stderr, 0); err != nil {
		_ = syscall.Close(saved)
		return func() {}
	}
	return func() {
		_ = syscall.Dup3(saved, stderr, 0)
		_ = syscall.Close(saved)
	}
}
