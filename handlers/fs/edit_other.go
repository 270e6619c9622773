//go:build !linux

package fs

import (
	"os"

	"golang.org/x/sys/unix"
)

// copyAttributes copies nothing: which extended attributes may be copied differs between systems.
func copyAttributes(_, _ openFile) error { return nil }

// openRoot opens a directory once more, as a root that nothing leads out of.
func openRoot(d *folder) (*os.Root, error) { return os.OpenRoot(d.path) }

// syncAll makes all that was written durable, as far as the system says so.
func syncAll(int) error { return unix.Sync() }
