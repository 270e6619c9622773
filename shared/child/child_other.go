//go:build !linux

package child

import "syscall"

// lastSignal does nothing: this system cannot send a signal when the parent ends.
func lastSignal(*syscall.SysProcAttr, syscall.Signal) {}

// awaitExit waits until the leader has ended.
func (g *Group) awaitExit() { g.err = g.Cmd.Wait() }
