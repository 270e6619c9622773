package fs

import (
	"archive/tar"
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

// TestNothingElseIsGivenAwayInArchives does the same where an archive is unpacked for another user.
func TestNothingElseIsGivenAwayInArchives(t *testing.T) {
	for at, name := range map[string]string{"fchown": "d", "fchownat": "l"} {
		var g *rig
		struck := false
		hidden := func() string { return g.path("a/" + disk.Leftover(name)) }
		g = newRig(t, withArchive(&disk.System{Before: func(call string) error {
			if _, err := os.Lstat(hidden()); struck || call != at || err != nil {
				return nil
			}
			struck = true
			g.do(os.Remove(hidden()))
			g.do(os.Rename(g.path("a/precious"), hidden()))
			return nil
		}}))
		g.do(os.MkdirAll(g.path("a/precious"), 0o700))
		g.write("a/precious/x", "x", 0o600)
		precious, err := os.Open(g.path("a/precious"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = g.apply(g.resource(map[string]any{"path": g.path("a"), "owner": int64(stranger),
			"source": g.host.AddFile(tarOf(t, member{"d/", "", tar.TypeDir, 0o755},
				linkTo("l", "x")))}))
		var st unix.Stat_t
		if e := unix.Fstat(int(precious.Fd()), &st); e != nil || st.Uid == stranger || !struck ||
			st.Mode&0o777 != 0o700 {
			t.Errorf("%s, struck: %t, %v; it belongs to %d, mode %o, %v", name, struck, err, st.Uid,
				st.Mode, e)
		}
		_ = precious.Close()
	}
}
