//go:build !linux

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// CopyAttributes copies nothing: which extended attributes may be copied differs between systems.
func CopyAttributes(_, _ File, _ bool) error { return nil }

// DropAccessLists drops nothing, as those of other systems are not known here.
func DropAccessLists(File) error { return nil }

// OpenRoot opens a directory once more, as a root that nothing leads out of.
func OpenRoot(d *Folder) (*os.Root, error) { return os.OpenRoot(d.Path) }

// SyncAll makes all that was written durable, as far as the system says so.
func SyncAll(int) error { return unix.Sync() }
