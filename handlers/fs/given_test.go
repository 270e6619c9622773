package fs

import (
	"os"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// TestNothingElseIsGivenAway has somebody who may write in the directory put something of the
// superuser's in the place of what is being made for another user, just before that one becomes its
// owner.
func TestNothingElseIsGivenAway(t *testing.T) {
	for _, tc := range []struct {
		why     string
		with    func(*disk.System) provider.Definition
		attrs   map[string]any
		at      string // the call before which it is put there
		rescued string // where it is then
	}{
		{"a directory", withDir, nil, "opendir", "/x"},
		{"a link", withLink, map[string]any{"target": "x"}, "fchownat", ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var g *rig
			done := false
			rig := newRig(t, tc.with(&disk.System{Before: func(call string) error {
				hidden := g.path(disk.Leftover("a"))
				if _, err := os.Lstat(hidden); done || call != tc.at || err != nil {
					return nil
				}
				done = true
				g.do(os.Remove(hidden))
				g.do(os.Rename(g.path("precious"), hidden))
				return nil
			}}))
			g = rig
			if tc.rescued != "" {
				g.do(os.Mkdir(g.path("precious"), 0o700))
			}
			g.write("precious"+tc.rescued, "x", 0o600)
			attrs := map[string]any{"path": g.path("a"), "owner": int64(stranger)}
			for k, v := range tc.attrs {
				attrs[k] = v
			}
			_, _, err := g.apply(g.resource(attrs))
			var st unix.Stat_t
			if e := unix.Lstat(g.path(disk.Leftover("a")), &st); e == nil && st.Uid == stranger ||
				err == nil || !done {
				t.Fatalf("struck: %t, %v; it belongs to %d, %v", done, err, st.Uid, e)
			}
			now, e := world(g.dir)
			if e != nil || strings.Contains(now, "54321") {
				t.Fatal(now, e)
			}
		})
	}
}
