package tool

import (
	"os/exec"
	"syscall"
)

// own makes a program and all it starts end together, and run as a user.
func own(cmd *exec.Cmd, as *User) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as.credential()}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
