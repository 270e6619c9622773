package fs

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diff"
	"southbound/shared/schema"
)

func TestGather(t *testing.T) {
	at := func(paths ...string) []schema.Kept {
		var out []schema.Kept
		for _, p := range paths {
			out = append(out, schema.Kept{Path: p})
		}
		return out
	}
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		kept  []schema.Kept
		want  map[string]any
	}{
		{"nothing is kept in it", map[string]any{"path": "/a"}, at("/b", "/ab", "/"),
			map[string]any{"path": "/a"}},
		{"paths at any depth, sorted and once", map[string]any{"path": "/a", "keep": []any{"k"}},
			at("/a/z", "/a/b/c/d", "/a/z"),
			map[string]any{"path": "/a", "keep": []any{"k"}, managedNames: []any{"b/c/d", "z"}}},
		{"old bytes", map[string]any{"path": "/a"}, []schema.Kept{{Path: "/a/b"},
			{Path: "/a/b.bak", Numbered: true}, {Path: "/a/c/d~", Numbered: true}},
			map[string]any{"path": "/a", managedNames: []any{"b"},
				managedBackups: []any{"b.bak", "c/d~"}}},
		{"what was gathered before is forgotten", map[string]any{"path": "/a",
			managedNames: []any{"old"}, managedBackups: []any{"old.bak"}}, at("/a/b"),
			map[string]any{"path": "/a", managedNames: []any{"b"}}},
		{"the directory itself", map[string]any{"path": "/a"}, at("/a"),
			map[string]any{"path": "/a"}},
		{"all that is in it", map[string]any{"path": "/a"},
			[]schema.Kept{{Path: "/a", Tree: true}, {Path: "/", Tree: true}},
			map[string]any{"path": "/a", managedNames: []any{"."}}},
		{"a directory whose path is not known", map[string]any{}, at("/a/b"), map[string]any{}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			before := len(tc.attrs)
			if d := cmp.Diff(tc.want, gather(tc.attrs, tc.kept)); d != "" {
				t.Fatal(d)
			}
			if len(tc.attrs) != before {
				t.Fatal("what was given was changed")
			}
		})
	}
}

// TestManagedIsLeftAlone purges a directory of all but what other resources manage at any depth,
// their backups, and what is kept.
func TestManagedIsLeftAlone(t *testing.T) {
	g := newRig(t, Directory())
	for _, dir := range []string{"a", "a/sub", "a/sub/deep", "a/tree", "a/gone", "real"} {
		g.do(os.Mkdir(g.path(dir), 0o755))
	}
	for _, name := range []string{"a/kept", "a/managed", "a/managed.1", "a/conf", "a/conf.bak",
		"a/conf.bak.1", "a/conf.bak.12", "a/conf.bak.x", "a/conf.bak.", "a/conf.bak.1.2", "a/.1",
		"a/junk", "a/sub/junk", "a/sub/deep/mine", "a/sub/deep/mine.bak.2", "a/sub/deep/junk",
		"a/tree/any", "a/gone/junk", "real/x"} {
		g.write(name, "", 0o600)
	}
	g.do(os.Symlink(g.path("real"), g.path("a/link")))
	r := g.resource(map[string]any{"path": g.path("a"), "recurse_purge": true,
		"keep": []any{"kept"}})
	at := func(name string) schema.Kept { return schema.Kept{Path: g.path("a/" + name)} }
	r.Attributes = gather(r.Attributes, []schema.Kept{at("managed"), at("conf"),
		{Path: g.path("a/conf.bak"), Numbered: true}, at("sub/deep/mine"),
		{Path: g.path("a/sub/deep/mine.bak"), Numbered: true}, at("tree"), at("link/x/y")})
	g.must(r, diff.Updated)
	g.must(r, diff.NoChange)
	g.has("a drwxr-xr-x", `a/conf -rw------- ""`, `a/conf.bak -rw------- ""`,
		`a/conf.bak.1 -rw------- ""`, `a/conf.bak.12 -rw------- ""`, `a/kept -rw------- ""`,
		"a/link Lrwxrwxrwx -> DIR/real", `a/managed -rw------- ""`, "a/sub drwxr-xr-x",
		"a/sub/deep drwxr-xr-x", `a/sub/deep/mine -rw------- ""`,
		`a/sub/deep/mine.bak.2 -rw------- ""`, "a/tree drwxr-xr-x", `a/tree/any -rw------- ""`,
		"real drwxr-xr-x", `real/x -rw------- ""`)
}

func TestGatheredIsNotForDocuments(t *testing.T) {
	g := newRig(t, Directory())
	_, problems := g.typ.Check(map[string]any{"path": "/a", managedNames: []any{"b"},
		managedBackups: []any{"c"}})
	if len(problems) != 2 || problems[0].Attribute != managedNames ||
		problems[1].Attribute != managedBackups {
		t.Fatal(problems)
	}
}
