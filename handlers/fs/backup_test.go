package fs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

func TestBackup(t *testing.T) {
	for _, tc := range []struct {
		why    string
		before func(g *rig)
		attrs  map[string]any
		purged bool
		want   []string
	}{
		{"beside it, with its mode", func(g *rig) { g.write("a", "old", 0o604) },
			map[string]any{"backup": true}, false,
			[]string{`a -rw----r-- "new"`, `a.bak -rw----r-- "old"`}},
		{"the mode that is asked for is not for the old bytes",
			func(g *rig) { g.write("a", "old", 0o600) },
			map[string]any{"backup": true, "mode": "0666"}, false,
			[]string{`a -rw-rw-rw- "new"`, `a.bak -rw------- "old"`}},
		{"under a suffix of one's own", func(g *rig) { g.write("a", "old", 0o600) },
			map[string]any{"backup": "~"}, false,
			[]string{`a -rw------- "new"`, `a~ -rw------- "old"`}},
		{"never over another", func(g *rig) {
			g.write("a", "old", 0o600)
			g.write("a.bak", "first", 0o400)
			g.write("a.bak.1", "second", 0o400)
		},
			map[string]any{"backup": true}, false,
			[]string{`a -rw------- "new"`, `a.bak -r-------- "first"`,
				`a.bak.1 -r-------- "second"`, `a.bak.2 -rw------- "old"`}},
		{"in the first gap", func(g *rig) {
			g.write("a", "old", 0o600)
			g.write("a.bak.1", "second", 0o400)
		}, map[string]any{"backup": true}, false,
			[]string{`a -rw------- "new"`, `a.bak -rw------- "old"`,
				`a.bak.1 -r-------- "second"`}},
		{"not over a directory", func(g *rig) {
			g.write("a", "old", 0o600)
			g.do(os.Mkdir(g.path("a.bak"), 0o700))
		}, map[string]any{"backup": true}, false,
			[]string{`a -rw------- "new"`, "a.bak drwx------", `a.bak.1 -rw------- "old"`}},
		{"not through a link", func(g *rig) {
			g.write("a", "old", 0o600)
			g.write("victim", "old", 0o600)
			g.do(os.Symlink("victim", g.path("a.bak")))
		}, map[string]any{"backup": true}, false,
			[]string{`a -rw------- "new"`, "a.bak Lrwxrwxrwx -> victim", `a.bak.1 -rw------- "old"`,
				`victim -rw------- "old"`}},
		{"the same bytes once", func(g *rig) {
			g.write("a", "old", 0o600)
			g.write("a.bak", "old", 0o400)
		}, map[string]any{"backup": true}, false,
			[]string{`a -rw------- "new"`, `a.bak -r-------- "old"`}},
		{"bytes of the same length are not the same",
			func(g *rig) { g.write("a", "old", 0o600); g.write("a.bak", "odd", 0o400) },
			map[string]any{"backup": true}, false,
			[]string{`a -rw------- "new"`, `a.bak -r-------- "odd"`, `a.bak.1 -rw------- "old"`}},
		{"not the right to run as another user",
			func(g *rig) { g.write("a", "old", 0o755|os.ModeSetuid|os.ModeSetgid) },
			map[string]any{"backup": true}, false,
			[]string{`a -rwxr-xr-x "new"`, `a.bak -rwxr-xr-x "old"`}},
		{"a link is kept as a link", func(g *rig) {
			g.do(os.Symlink("victim", g.path("a")))
			g.write("victim", "v", 0o600)
		}, map[string]any{"backup": true}, false,
			[]string{`a -rw-r--r-- "new"`, "a.bak Lrwxrwxrwx -> victim", `victim -rw------- "v"`}},
		{"of what is purged, too", func(g *rig) { g.write("a", "old", 0o600) },
			map[string]any{"backup": true}, true, []string{`a.bak -rw------- "old"`}},
		{"not of what only changes its mode", func(g *rig) { g.write("a", "new", 0o600) },
			map[string]any{"backup": true, "mode": "0640"}, false, []string{`a -rw-r----- "new"`}},
		{"not of what was not there", func(*rig) {}, map[string]any{"backup": true}, false,
			[]string{`a -rw-r--r-- "new"`}},
		{"not unless asked for", func(g *rig) { g.write("a", "old", 0o600) },
			map[string]any{"backup": false}, false, []string{`a -rw------- "new"`}},
	} {
		for kind, fileSystem := range fileSystems() {
			t.Run(tc.why+"/"+kind, func(t *testing.T) {
				g := newRig(t, withFile(&disk.System{Before: fileSystem}))
				tc.before(g)
				attrs := map[string]any{"path": g.path("a"), "content": "new"}
				for k, v := range tc.attrs {
					attrs[k] = v
				}
				r := g.resource(attrs)
				r.Purged = tc.purged
				if _, _, err := g.apply(r); err != nil {
					t.Fatal(err)
				}
				g.has(tc.want...)
				kept := strings.Contains(g.host.Output(), "kept a backup of the previous file")
				want := strings.Contains(g.shape(false), `"old"`) ||
					strings.Contains(tc.why, "as a link")
				if kept != want && !strings.Contains(tc.why, "once") {
					t.Fatalf("said that it kept the old: %t", kept)
				}
			})
		}
	}
}

// TestManyBackups changes a file again and again, and back.
func TestManyBackups(t *testing.T) {
	g := newRig(t, File())
	put := func(content string) {
		g.must(g.resource(map[string]any{"path": g.path("a"), "content": content, "backup": true}),
			map[bool]diff.Change{true: diff.Created, false: diff.Updated}[content == "0"])
	}
	var want []string
	for i := range 20 {
		put(fmt.Sprint(i))
		if i > 0 {
			name := "a.bak"
			if i > 1 {
				name = fmt.Sprintf("a.bak.%d", i-1)
			}
			want = append(want, name+` -rw-r--r-- "`+fmt.Sprint(i-1)+`"`)
		}
	}
	for range 5 { // these bytes are kept already, but for the last
		put("5")
		put("19")
	}
	for _, line := range append(want, `a.bak.19 -rw-r--r-- "19"`) {
		if !strings.Contains(g.shape(false),
			strings.ReplaceAll(line, "-- ", fmt.Sprintf("-- %d:%d ", os.Getuid(), os.Getgid()))) {
			t.Fatalf("%s is missing in\n%s", line, g.shape(false))
		}
	}
	if n := strings.Count(g.shape(false), "\n"); n != 21 {
		t.Fatalf("%d files", n)
	}
}

func TestTooManyBackups(t *testing.T) {
	g := newRig(t, File())
	g.write("a", "old", 0o600)
	g.write("a.bak", "", 0o600)
	for i := 1; i < disk.MaxBackups; i++ {
		g.do(os.Mkdir(g.path(fmt.Sprintf("a.bak.%d", i)), 0o700))
	}
	g.fails(g.resource(map[string]any{"path": g.path("a"), "content": "new", "backup": true}),
		provider.Terminal, "remove some")
}
