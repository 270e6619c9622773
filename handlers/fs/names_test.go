package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"southbound/handlers/internal/disk"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// oddNames are names that a directory may have and that programs get wrong.
func oddNames() []string {
	return []string{
		" ", "a b", " a ", "a\nb", "\n", "a\tb", `"`, `'`, "`", `\`, `a\nb`, "$HOME", "*", "?",
		"[a]", "~", "-rf", "--", "#", ";", "&", "|", "%s", "%2f", ":", "a:b",
		"...", ".hidden", "..a", "a.", ".a.southbound-00000000", "ü", "u\u0308", "日本語", "\u202e",
		"😀", "\x01", "\x7f", "\xff", "a\xffb", "\xc3", "\xed\xa0\x80",
		strings.Repeat("n", 255), strings.Repeat("ü", 127) + "x", strings.Repeat("\x80", 255),
		strings.Repeat("n", 254) + " ",
	}
}

// TestOddNames makes, changes, backs up and purges things of every odd name, all in one directory,
// each of every type.
func TestOddNames(t *testing.T) {
	for _, tc := range []struct {
		def           provider.Definition
		first, second map[string]any
	}{
		{File(), map[string]any{"content": "1"}, map[string]any{"content": "2", "mode": "0600"}},
		{Directory(), map[string]any{"mode": "0700"}, map[string]any{"mode": "0750"}},
		{Symlink(), map[string]any{"target": "1"}, map[string]any{"target": "2"}},
	} {
		t.Run(tc.def.Type.Name, func(t *testing.T) {
			g := newRig(t, tc.def)
			resource := func(name string, attrs map[string]any) provider.Resource {
				attrs["path"] = "/x"
				r := g.resource(attrs)
				// no document can have those that are not text
				r.Attributes["path"] = g.dir + "/" + name
				return r
			}
			for _, name := range oddNames() {
				g.must(resource(name, tc.first), diff.Created)
			}
			for _, name := range oddNames() {
				g.must(resource(name, tc.second), diff.Updated)
			}
			entries, err := os.ReadDir(g.dir)
			g.do(err)
			if len(entries) != len(oddNames()) {
				t.Fatalf("%d names became %d: %v", len(oddNames()), len(entries), entries)
			}
			for _, name := range oddNames() {
				r := resource(name, tc.second)
				r.Purged = true
				g.must(r, diff.Purged)
			}
			g.has()
		})
	}
}

// TestNamesAsTargets keeps every odd name as what a link points to, and as a name in a directory
// that is emptied.
func TestNamesAsTargets(t *testing.T) {
	g, d := newRig(t, Symlink()), newRig(t, Directory())
	for i, name := range oddNames() {
		g.must(g.resource(map[string]any{"path": g.path(fmt.Sprint(i)), "target": name}),
			diff.Created)
		if got, err := os.Readlink(g.path(fmt.Sprint(i))); err != nil || got != name {
			t.Fatalf("%q became %q, %v", name, got, err)
		}
		d.do(os.MkdirAll(filepath.Join(d.dir, "a"), 0o755))
		d.do(os.WriteFile(d.dir+"/a/"+name, nil, 0o600))
	}
	r := d.resource(map[string]any{"path": d.path("a"), "recurse_purge": true,
		"keep": []any{"-rf", "a\nb"}})
	obs, err := d.def.Handler.Read(d.ctx(), provider.ReadRequest{Resource: r})
	d.do(err)
	shown, _ := obs.Attributes["surplus"].([]any)
	if len(shown) != len(oddNames())-2 {
		t.Fatalf("surplus: %q", shown)
	}
	distinct := map[any]bool{}
	for _, name := range shown {
		if s, ok := name.(string); !ok || !utf8.ValidString(s) {
			t.Fatalf("%q is not text", name)
		}
		distinct[name] = true
	}
	if len(distinct) != len(shown) {
		t.Fatalf("two names are shown as one: %q", shown)
	}
	d.must(r, diff.Updated)
	d.has("a drwxr-xr-x", `a/-rf -rw------- ""`, "a/a\nb -rw------- \"\"")
}

// TestHiddenNames has a hidden name for every name: another for each, and not too long.
func TestHiddenNames(t *testing.T) {
	seen := map[string]string{}
	names := oddNames()
	for i := range 300 {
		names = append(names, strings.Repeat("n", i+1),
			strings.Repeat("ü", i/2+1)+strings.Repeat("x", i%2))
	}
	for _, name := range names {
		hidden := disk.Leftover(name)
		if first, ok := seen[hidden]; ok && first != name {
			t.Errorf("%q and %q have the hidden name %q", first, name, hidden)
		}
		seen[hidden] = name
		if len(hidden) > disk.MaxName || !strings.HasPrefix(hidden, ".") ||
			strings.Contains(hidden, "/") || hidden == name {
			t.Errorf("the hidden name of %q is %q", name, hidden)
		}
		if utf8.ValidString(name) && !utf8.ValidString(hidden) {
			t.Errorf("the hidden name of %q is cut in a letter: %q", name, hidden)
		}
	}
}

func TestLongPaths(t *testing.T) {
	const limit = 4095 // bytes of a path
	for _, tc := range []struct {
		why       string
		dir, base int // how long the path of the directory is, and the name in it
		fails     string
	}{
		{"as long as the system allows", limit - 101, 100, ""},
		{"the directory alone is that long, and nobody else could name the file", limit, 100, ""},
		{"longer", limit + 1, 1, "name too long"},
		{"much longer", 10_000, 100, "name too long"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, File())
			dir := g.dir
			for len(dir) < tc.dir {
				dir += "/" + strings.Repeat("d", min(200, max(tc.dir-len(dir)-1, 1)))
			}
			if err := os.MkdirAll(dir, 0o700); (err == nil) != (tc.fails == "") {
				t.Fatal(err)
			}
			r := g.resource(map[string]any{"path": dir + "/" + strings.Repeat("f", tc.base),
				"content": "x"})
			if tc.fails == "" {
				g.must(r, diff.Created)
				return
			}
			g.fails(r, provider.NeedsChange, tc.fails)
		})
	}
	t.Run("a name that is too long", func(t *testing.T) {
		g := newRig(t, File())
		g.fails(g.resource(map[string]any{"path": g.path(strings.Repeat("n", 256)),
			"content": "x"}), provider.NeedsChange, "name too long")
	})
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		why   string
		def   provider.Definition
		attrs map[string]any
		want  string // the attribute complained about, and a part of message or hint
	}{
		{"the shortest form is the only one", File(), map[string]any{"path": "/a//b"},
			"path: write /a/b"},
		{"no slash at the end", Directory(), map[string]any{"path": "/a/"}, "path: write /a"},
		{"no way up", Symlink(), map[string]any{"path": "/a/../b", "target": "x"},
			"path: write /b"},
		{"no way up from the root", File(), map[string]any{"path": "/../b"}, "path: write /b"},
		{"a relative path is none", File(), map[string]any{"path": "a"}, "path: "},
		{"nor is none", File(), map[string]any{"path": ""}, "path: "},
		{"the root is not a file", File(), map[string]any{"path": "/"}, "path: is a directory"},
		{"nor a link", Symlink(), map[string]any{"path": "/", "target": "x"},
			"path: is a directory"},
		{"but a directory", Directory(), map[string]any{"path": "/"}, ""},
		{"no name has a zero byte", File(), map[string]any{"path": "/a\x00b"}, "path: "},
		{"nor has a target", Symlink(), map[string]any{"path": "/a", "target": "a\x00b"},
			"target: zero byte"},
		{"newlines are fine", File(), map[string]any{"path": "/a\nb"}, ""},
		{"modes are octal", File(), map[string]any{"path": "/a", "mode": "0888"}, "mode: "},
		{"and not symbolic", File(), map[string]any{"path": "/a", "mode": "u+x"}, "mode: "},
		{"nor numbers", File(), map[string]any{"path": "/a", "mode": int64(420)}, "mode: "},
		{"owners are names", File(), map[string]any{"path": "/a", "owner": "root", "group": "0"},
			""},
		{"or numbers", File(), map[string]any{"path": "/a", "owner": int64(0),
			"group": int64(1<<32 - 2)}, ""},
		{"one number means none", File(), map[string]any{"path": "/a", "owner": int64(1<<32 - 1)},
			"owner: "},
		{"as do those below zero", File(), map[string]any{"path": "/a", "owner": int64(-1)},
			"owner: "},
		{"an empty owner is none", File(), map[string]any{"path": "/a", "owner": ""}, "owner: "},
		{"a suffix has no slash", File(), map[string]any{"path": "/a", "backup": "/x"}, "backup: "},
		{"and room for a number", File(), map[string]any{"path": "/" + strings.Repeat("n", 250),
			"backup": true}, "backup: shorter suffix"},
		{"there is room", File(), map[string]any{"path": "/" + strings.Repeat("n", 246),
			"backup": true}, ""},
		{"false is not a backup", File(), map[string]any{"path": "/" + strings.Repeat("n", 255),
			"backup": false}, ""},
		{"the root is not emptied", Directory(), map[string]any{"path": "/", "recurse_purge": true},
			"recurse_purge: of the system itself"},
		{"nor what it is made of", Directory(),
			map[string]any{"path": "/etc", "recurse_purge": true},
			"recurse_purge: of the system itself"},
		{"what is in it may be", Directory(),
			map[string]any{"path": "/etc/cron.d", "recurse_purge": true}, ""},
		{"a target is needed", Symlink(), map[string]any{"path": "/a"}, "target: "},
		{"and not empty", Symlink(), map[string]any{"path": "/a", "target": ""}, "target: "},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, tc.def)
			_, problems := g.typ.Check(tc.attrs)
			if tc.want == "" {
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				return
			}
			attribute, part, _ := strings.Cut(tc.want, ": ")
			for _, p := range problems {
				if p.Attribute == attribute && strings.Contains(p.Message+" "+p.Hint, part) {
					return
				}
			}
			t.Fatalf("expected %q, got %v", tc.want, problems)
		})
	}
}

// TestPathsThatWereNotKnown refuses at the last moment what a parameter or a fact turned out to be.
func TestPathsThatWereNotKnown(t *testing.T) {
	for _, path := range []any{"", "a", "/a/", "/a/../b", "/a\x00b", int64(1), nil, "."} {
		for _, d := range []provider.Definition{File(), Directory(), Symlink()} {
			g := newRig(t, d)
			r := provider.Resource{Attributes: map[string]any{"path": path, "target": "x"}}
			_, errs := d.Handler.Read(g.ctx(), provider.ReadRequest{Resource: r})
			_, errc := d.Handler.Create(g.ctx(), provider.CreateRequest{Resource: r})
			r.Purged = true
			_, errd := d.Handler.Delete(g.ctx(), provider.DeleteRequest{Resource: r})
			for _, err := range []error{errs, errc, errd} {
				if err == nil || provider.ClassOf(err) != provider.NeedsChange {
					t.Errorf("%s at %v: %v", d.Type.Name, path, err)
				}
			}
		}
	}
}
