//go:build !linux

package child

import "syscall"

// lastSignal does nothing: the system cannot send one.
func lastSignal(*syscall.SysProcAttr, syscall.Signal) {}

// awaitExit waits until the leader has ended.
func (g *Group) awaitExit() { g.err = g.Cmd.Wait() }
