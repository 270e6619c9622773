package fs

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diff"
	"southbound/shared/schema"
)

func TestGather(t *testing.T) {
	file := func(path string, backup any) schema.Dependent {
		return schema.Dependent{Type: "fs::File", Attributes: map[string]any{"path": path,
			"backup": backup}}
	}
	for _, tc := range []struct {
		why        string
		attrs      map[string]any
		dependents []schema.Dependent
		want       map[string]any
	}{
		{"nothing is managed in it", map[string]any{"path": "/a"}, nil,
			map[string]any{"path": "/a"}},
		{"names, sorted and once", map[string]any{"path": "/a", "keep": []any{"k"}},
			[]schema.Dependent{file("/a/z", nil), file("/a/b", nil),
				{Type: "fs::Directory", Attributes: map[string]any{"path": "/a/z"}}},
			map[string]any{"path": "/a", "keep": []any{"k"}, managedNames: []any{"b", "z"}}},
		{"with their backups", map[string]any{}, []schema.Dependent{file("/a/b", true),
			file("/a/c", "~"), file("/a/d", false)},
			map[string]any{managedNames: []any{"b", "c", "d"},
				managedBackups: []any{"b.bak", "c~"}}},
		{"what was gathered before is forgotten", map[string]any{managedNames: []any{"old"},
			managedBackups: []any{"old.bak"}}, []schema.Dependent{file("/a/b", nil)},
			map[string]any{managedNames: []any{"b"}}},
		{"what has no place there", map[string]any{}, []schema.Dependent{{}, file("/", nil),
			file("", nil)}, map[string]any{}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			before := len(tc.attrs)
			if d := cmp.Diff(tc.want, gather(tc.attrs, tc.dependents)); d != "" {
				t.Fatal(d)
			}
			if len(tc.attrs) != before {
				t.Fatal("what was given was changed")
			}
		})
	}
}

// TestManagedIsLeftAlone purges a directory of all but what other resources manage, their backups,
// and what is kept.
func TestManagedIsLeftAlone(t *testing.T) {
	g := newRig(t, Directory())
	g.do(os.Mkdir(g.path("a"), 0o755))
	for _, name := range []string{"kept", "managed", "managed.1", "conf", "conf.bak", "conf.bak.1",
		"conf.bak.12", "conf.bak.x", "conf.bak.", "conf.bak.1.2", ".1", "junk"} {
		g.write("a/"+name, "", 0o600)
	}
	r := g.resource(map[string]any{"path": g.path("a"), "recurse_purge": true,
		"keep": []any{"kept"}})
	r.Attributes = gather(r.Attributes,
		[]schema.Dependent{{Attributes: map[string]any{"path": "/a/managed"}},
			{Attributes: map[string]any{"path": "/a/conf", "backup": true}}})
	g.must(r, diff.Updated)
	g.has("a drwxr-xr-x", `a/conf -rw------- ""`, `a/conf.bak -rw------- ""`,
		`a/conf.bak.1 -rw------- ""`, `a/conf.bak.12 -rw------- ""`, `a/kept -rw------- ""`,
		`a/managed -rw------- ""`)
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
