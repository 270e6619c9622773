//go:build !linux

package tool

import (
	"os/exec"
	"syscall"
)

// own makes a program run as a user, and all it starts end together, where that can be.
func own(cmd *exec.Cmd, as *User) {
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as.credential()}
	}
}
