package providertest

import (
	"os"
	"runtime/debug"
	"syscall"
)

// divert lets what the process writes to its standard output and its standard error go to files,
// until back is called: to the descriptors 1 and 2, and to os.Stdout and os.Stderr where these are
// others, as os.Stderr is for go test -json. What the process says when it crashes, or a test has
// no time left, goes to where it went before as well.
func divert(stdout, stderr *os.File) (back func()) {
	const out, err = 1, 2
	backs := []func(){crashesTo(err), redirect(out, stdout), redirect(err, stderr)}
	if fd := int(os.Stdout.Fd()); fd != out {
		backs = append(backs, redirect(fd, stdout))
	}
	if fd := int(os.Stderr.Fd()); fd != err && fd != int(os.Stdout.Fd()) {
		backs = append(backs, redirect(fd, stderr))
	}
	return func() {
		for _, b := range backs {
			b()
		}
	}
}

// crashesTo has the process write to a descriptor as it is now why it crashes, until back is
// called.
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
