package fs

import (
	"slices"
	"testing"
)

// TestSyncedBeforeSeen looks at the order of the calls of every change, on every kind of file
// system: bytes, owner and mode are synced before they get a name that counts, and the directory is
// synced after the last of all.
func TestSyncedBeforeSeen(t *testing.T) {
	inside := []string{"write", "fchown", "fchmod"}
	names := []string{"linkfile", "rename", "symlink", "link", "unlink", "rmdir", "mkdir", "create",
		"fchownat"}
	for kind, fileSystem := range fileSystems() {
		for _, c := range changes() {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				var calls []string
				c.uninterrupted(t, func(call string) error {
					calls = append(calls, call)
					return fileSystem(call)
				})
				unsynced, unnamed := false, false
				for _, call := range calls {
					switch {
					case slices.Contains(inside, call):
						unsynced = true
					case call == "fsync":
						unsynced, unnamed = false, false
					case unsynced && (call == "rename" || call == "linkfile"):
						t.Errorf("%s before a sync: %v", call, calls)
					case slices.Contains(names, call):
						unnamed = true
					}
				}
				if unsynced || unnamed {
					t.Errorf("the last change is not synced: %v", calls)
				}
			})
		}
	}
}
