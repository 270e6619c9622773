//go:build !linux

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// CopyAttributes copies nothing: which extended attributes may be copied differs between systems.
func CopyAttributes(_, _ File, _ bool) error { return nil }

// DropAccessLists does nothing: access lists of other systems are not supported.
func DropAccessLists(File) error { return nil }

// OpenRoot opens a directory again, as a root that no path leaves.
func OpenRoot(d *Folder) (*os.Root, error) { return os.OpenRoot(d.Path) }

// SyncAll makes all written data durable, as far as the system reports it.
func SyncAll(int) error { return unix.Sync() }
