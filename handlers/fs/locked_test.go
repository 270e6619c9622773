package fs

import (
	"os"
	"testing"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// unreadable is a system on which nobody, not even the superuser, reads what its mode keeps its
// owner from reading.
func unreadable(path string, self int) *disk.System {
	return &disk.System{Self: self, Before: func(call string) error {
		var st unix.Stat_t
		if (call == "open" || call == "opendir") && unix.Lstat(path, &st) == nil &&
			st.Mode&unix.S_IRUSR == 0 {
			return unix.EACCES
		}
		return nil
	}}
}

// TestLockedOut takes from their owner, who is not a superuser, the right to read things; that is
// drift as any other.
func TestLockedOut(t *testing.T) {
	for _, tc := range []struct {
		why   string
		with  func(*disk.System) provider.Definition
		set   func(g *rig)
		attrs map[string]any
		want  string
	}{
		{"a file with content", withFile, func(g *rig) { g.write("a", "x", 0) },
			map[string]any{"content": "x", "mode": "0600"}, "a -rw------- \"x\""},
		{"a file with any content", withFile, func(g *rig) { g.write("a", "x", 0o200) },
			map[string]any{"mode": "0640"}, "a -rw-r----- \"x\""},
		{"a directory", withDir, func(g *rig) { g.do(os.Mkdir(g.path("a"), 0o000)) },
			map[string]any{"mode": "0700"}, "a drwx------"},
		{"one that is emptied", withDir, func(g *rig) {
			g.do(os.MkdirAll(g.path("a/b/c"), 0o700))
			g.do(os.Chmod(g.path("a"), 0o000))
		}, map[string]any{"mode": "0700", "recurse_purge": true}, "a drwx------"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, tc.with(nil))
			g.def = tc.with(unreadable(g.path("a"), 0))
			tc.set(g)
			tc.attrs["path"] = g.path("a")
			g.must(g.resource(tc.attrs), diff.Updated)
			g.has(tc.want)
		})
	}
}

// TestStaysLockedOut keeps out of what is another's, has other names, or is not said to be
// readable.
func TestStaysLockedOut(t *testing.T) {
	for _, tc := range []struct {
		why   string
		self  int
		set   func(g *rig)
		attrs map[string]any
	}{
		{"the file of another user", stranger, func(*rig) {},
			map[string]any{"content": "x", "mode": "0600"}},
		{"the mode of another user's file", stranger, func(*rig) {},
			map[string]any{"mode": "0600"}},
		{"a file with other names", 0, func(g *rig) { g.do(os.Link(g.path("a"), g.path("b"))) },
			map[string]any{"mode": "0600"}},
		{"nobody says what its mode should be", 0, func(*rig) {}, map[string]any{"content": "y"}},
		{"it is to be locked", 0, func(*rig) {}, map[string]any{"content": "x", "mode": "0200"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, withFile(nil))
			g.def = withFile(unreadable(g.path("a"), tc.self))
			g.write("a", "x", 0)
			tc.set(g)
			tc.attrs["path"] = g.path("a")
			g.fails(g.resource(tc.attrs), provider.Terminal, "permission denied")
			if info, err := os.Lstat(g.path("a")); err != nil || info.Mode().Perm() != 0 {
				t.Fatal(info.Mode(), err)
			}
		})
	}
}
