package fs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// removed returns the paths that removals were reported of, below the rig's directory.
func (g *rig) removed() []string {
	var out []string
	for _, line := range g.host.Lines() {
		if path, _ := line.Kwargs["path"].(string); line.Msg == "removed" {
			out = append(out, strings.TrimPrefix(path, g.dir+"/"))
		}
	}
	slices.Sort(out)
	return out
}

func TestRecursePurge(t *testing.T) {
	all := []string{"a/1", "a/2", "a/deep", "a/deep/3", "a/deep/deeper", "a/deep/deeper/4",
		"a/deep/link", "a/link", "a/pipe"}
	kept := []string{"a/kept", "a/kept/5"}
	outside := []string{"outside drwxr-xr-x", `outside/6 -rw------- "outside/6"`}
	for _, tc := range []struct {
		why     string
		attrs   map[string]any
		purged  bool
		removed []string
		left    []string
	}{
		{"what is kept stays, with all below",
			map[string]any{"recurse_purge": true, "keep": []any{"kept", "none"}}, false, all,
			[]string{"a drwxr-xr-x", "a/kept drwxr-xr-x", `a/kept/5 -rw------- "a/kept/5"`}},
		{"everything goes where nothing is kept", map[string]any{"recurse_purge": true}, false,
			append(kept, all...), []string{"a drwxr-xr-x"}},
		{"with a change of the mode", map[string]any{"recurse_purge": true, "mode": "0700"}, false,
			append(kept, all...), []string{"a drwx------"}},
		{"and the directory itself when it is purged, whatever is kept",
			map[string]any{"recurse_purge": true, "keep": []any{"kept"}}, true,
			append(append([]string{"a"}, kept...), all...), nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, Directory())
			tree(g)
			tc.attrs["path"] = g.path("a")
			r := g.resource(tc.attrs)
			if r.Purged = tc.purged; tc.purged {
				g.must(r, diff.Purged)
			} else {
				g.must(r, diff.Updated)
			}
			g.has(append(tc.left, outside...)...)
			slices.Sort(tc.removed)
			if got := g.removed(); !slices.Equal(got, tc.removed) {
				t.Fatalf("reported %q\nexpected %q", got, tc.removed)
			}
		})
	}
}

func TestWithoutRecursePurge(t *testing.T) {
	g := newRig(t, Directory())
	tree(g)
	before := g.shape(false)
	r := g.resource(map[string]any{"path": g.path("a"), "keep": []any{"kept"}})
	if change, _, err := g.apply(r); err != nil || change != diff.NoChange {
		t.Fatal(change, err)
	}
	r.Purged = true
	g.fails(r, provider.NeedsChange, "it is not empty; set recurse_purge")
	if g.shape(false) != before {
		t.Fatal(g.shape(false))
	}
}

// TestSurplusIsSeen shows what would be removed before it is, and not too much of it.
func TestSurplusIsSeen(t *testing.T) {
	g := newRig(t, Directory())
	g.do(os.Mkdir(g.path("a"), 0o755))
	for i := range 2 * maxSurplus {
		g.write(fmt.Sprintf("a/%03d", i), "", 0o600)
	}
	r := g.resource(map[string]any{"path": g.path("a"), "recurse_purge": true})
	obs, err := g.def.Handler.Read(g.host.Context(t.Context(), provider.Options{DryRun: true}),
		provider.ReadRequest{Resource: r})
	g.do(err)
	shown, _ := obs.Attributes["surplus"].([]any)
	if len(shown) != maxSurplus+1 || shown[0] != "000" || shown[maxSurplus] != "… and 100 more" {
		t.Fatal(shown)
	}
	if a, ok := g.typ.Attribute("surplus"); !ok || a.DataType.Check(shown) != nil {
		t.Fatal("it is not of its type")
	}
}

// TestManyRemovals reports each removal up to a number, and then how many there were.
func TestManyRemovals(t *testing.T) {
	g := newRig(t, Directory())
	g.do(os.Mkdir(g.path("a"), 0o755))
	for i := range 3 * maxReported {
		g.write(fmt.Sprintf("a/%04d", i), "", 0o600)
	}
	g.must(g.resource(map[string]any{"path": g.path("a"), "recurse_purge": true}), diff.Updated)
	if n := len(g.removed()); n != maxReported ||
		!strings.Contains(g.host.Output(), fmt.Sprintf("count:%d", 3*maxReported)) {
		t.Fatalf("%d reported; %.200s", n, g.host.Output())
	}
	g.has("a drwxr-xr-x")
}

// TestSystemDirectories are refused under their own name, under others, and when a document could
// not tell.
func TestSystemDirectories(t *testing.T) {
	g := newRig(t, Directory())
	g.do(os.Symlink("/", g.path("root")))
	g.do(os.Symlink("/usr", g.path("usr")))
	for _, path := range append(guarded(), g.path("root")+"/etc", g.path("root/usr/bin"),
		g.path("usr/lib"), g.path("usr")+"/../etc", g.path("root/proc")) {
		for _, purged := range []bool{false, true} {
			// Nothing is carried out: the guard alone is asked, as a test that fails must not take
			// the machine with it.
			r := provider.Resource{Attributes: map[string]any{"path": path, "recurse_purge": true},
				Purged: purged}
			if problems := validPurge(r.Attributes); slices.Contains(guarded(),
				path) != (len(problems) == 1) {
				t.Errorf("%s: %v", path, problems)
			}
			dir, err := os.Open(path)
			if os.IsNotExist(err) || os.IsPermission(err) {
				continue // not every system has all of them, nor may everybody read them
			}
			g.do(err)
			err = (&removal{ctx: g.ctx()}).guard(int(dir.Fd()), path)
			if err == nil || provider.ClassOf(err) != provider.NeedsChange ||
				!strings.Contains(err.Error(), "is a directory of the system itself") {
				t.Errorf("%s: %v", path, err)
			}
			g.do(dir.Close())
		}
	}
}

// TestGuardIsAsked removes nothing of what the guard forbids: it asks before every removal, for
// whatever leads there.
func TestGuardIsAsked(t *testing.T) {
	for _, purged := range []bool{false, true} {
		t.Run(fmt.Sprintf("purged %t", purged), func(t *testing.T) {
			calls := 0
			g := newRig(t, withDir(&disk.System{Before: func(call string) error {
				if call == "unlink" || call == "rmdir" {
					calls++
					return os.ErrPermission // whatever happens, nothing is removed
				}
				return nil
			}}))
			g.do(os.Symlink("/", g.path("root")))
			for _, path := range []string{"/", g.path("root/usr"), "/usr/lib"} {
				r := provider.Resource{Attributes: map[string]any{"path": path,
					"recurse_purge": true}, Purged: purged}
				g.fails(r, provider.NeedsChange, "is a directory of the system itself")
			}
			if calls > 0 {
				t.Fatalf("%d removals were tried", calls)
			}
		})
	}
}

// TestPurgedRoot is refused without recurse_purge, too.
func TestPurgedRoot(t *testing.T) {
	g := newRig(t, withDir(&disk.System{Before: func(call string) error {
		if call == "unlink" {
			return os.ErrPermission
		}
		return nil
	}}))
	r := provider.Resource{Attributes: map[string]any{"path": "/"}, Purged: true}
	if _, _, err := g.apply(r); err == nil {
		t.Fatal("no error")
	}
}

func TestDeepTrees(t *testing.T) {
	g := newRig(t, Directory())
	path := g.path("a")
	for range 400 {
		path += "/d"
	}
	g.do(os.MkdirAll(path, 0o755))
	r := g.resource(map[string]any{"path": g.path("a"), "recurse_purge": true})
	r.Purged = true
	g.must(r, diff.Purged)
	g.has()
}

// TestWrittenMeanwhile has something write into a directory while it is removed: once, which is
// removed, too, and without an end.
func TestWrittenMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		why   string
		times int
	}{{"once", 1}, {"without an end", 1 << 30}} {
		t.Run(tc.why, func(t *testing.T) {
			var g *rig
			times := tc.times
			g = newRig(t, withDir(&disk.System{Before: func(call string) error {
				if call == "rmdir" && times > 0 {
					times--
					return os.WriteFile(g.path("a/deep/late"), nil, 0o600)
				}
				return nil
			}}))
			g.do(os.MkdirAll(g.path("a/deep"), 0o755))
			r := g.resource(map[string]any{"path": g.path("a"), "recurse_purge": true})
			if tc.times == 1 {
				g.must(r, diff.Updated)
				g.has("a drwxr-xr-x")
				return
			}
			g.fails(r, provider.Retryable, "something writes into "+g.path("a/deep"))
		})
	}
}
