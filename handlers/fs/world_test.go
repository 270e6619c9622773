package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
)

// world describes all below dir: names, kinds, modes, owners and contents.
func world(dir string) (string, error) {
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		st, _ := info.Sys().(*syscall.Stat_t)
		if path == dir {
			return nil
		}
		fmt.Fprintf(&b, "%s %v %d:%d", rel, info.Mode(), st.Uid, st.Gid)
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			fmt.Fprintf(&b, " -> %s\n", strings.ReplaceAll(target, dir, "DIR"))
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			fmt.Fprintf(&b, " %q\n", data)
			return err
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String(), err
}

// rig drives a handler against a directory of its own.
type rig struct {
	t    *testing.T
	def  provider.Definition
	typ  *schema.Compiled
	host *providertest.Host
	dir  string
}

func newRig(t *testing.T, def provider.Definition) *rig {
	t.Helper()
	reg, err := schema.NewRegistry(def.Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := reg.Type(def.Type.Name)
	return &rig{t: t, def: def, typ: typ, host: providertest.NewHost(nil), dir: memoryDir(t)}
}

// memoryDir returns an empty directory, in memory where the system has such a place: what is done
// there thousands of times need not wait for a disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "southbound-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (g *rig) path(name string) string { return filepath.Join(g.dir, name) }

func (g *rig) resource(attrs map[string]any, purged ...bool) provider.Resource {
	g.t.Helper()
	check, gone := g.typ.Check, len(purged) > 0 && purged[0]
	if gone {
		check = g.typ.CheckPurged
	}
	full, problems := check(attrs)
	if len(problems) > 0 {
		g.t.Fatal(problems)
	}
	return provider.Resource{Type: g.typ.Name, Attributes: full, Purged: gone}
}

func (g *rig) ctx() *provider.Context {
	return g.host.Context(g.t.Context(), provider.Options{})
}

// apply reads, compares and acts, as the engine does, and returns what it did and what differed.
func (g *rig) apply(r provider.Resource) (diff.Change, map[string]diff.Diff, error) {
	h := g.def.Handler
	obs, err := h.Read(g.ctx(), provider.ReadRequest{Resource: r})
	if err != nil {
		return diff.NoChange, nil, err
	}
	switch {
	case r.Purged && !obs.Exists:
		return diff.NoChange, nil, nil
	case r.Purged:
		_, err := h.Delete(g.ctx(), provider.DeleteRequest{Resource: r, Observed: obs})
		return diff.Purged, nil, err
	case !obs.Exists:
		_, err := h.Create(g.ctx(), provider.CreateRequest{Resource: r})
		return diff.Created, nil, err
	}
	var diffs map[string]diff.Diff
	if d, ok := h.(provider.Differ); ok {
		diffs, err = d.Diff(g.ctx(), r, obs)
	} else {
		diffs = diff.Compare(g.typ, r.Attributes, obs.Attributes)
	}
	if err != nil || len(diffs) == 0 {
		return diff.NoChange, nil, err
	}
	_, err = h.Update(g.ctx(), provider.UpdateRequest{Resource: r, Observed: obs, Changes: diffs})
	return diff.Updated, diffs, err
}

// would asks in a dry run what a deploy would do, and returns why that would fail.
func (g *rig) would(r provider.Resource) error {
	g.t.Helper()
	ctx := g.host.Context(g.t.Context(), provider.Options{DryRun: true})
	obs, err := g.def.Handler.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return err
	}
	item := provider.BatchChange{Context: ctx, Change: diff.Updated, Resource: r, Observed: obs}
	switch {
	case r.Purged:
		item.Change = diff.Purged
	case !obs.Exists:
		item.Change = diff.Created
	default:
		item.Changes = diff.Compare(g.typ, r.Attributes, obs.Attributes)
		if d, ok := g.def.Handler.(provider.Differ); ok {
			if item.Changes, err = d.Diff(ctx, r, obs); err != nil {
				return err
			}
		}
	}
	return g.def.Handler.(provider.Nooper).Noop(ctx, item)
}

// must applies and demands a change, and none after it.
func (g *rig) must(r provider.Resource, want diff.Change) {
	g.t.Helper()
	if got, diffs, err := g.apply(r); err != nil || got != want {
		g.t.Fatalf("apply did %q (%v), %v; expected %q", got, diffs, err, want)
	}
	if got, diffs, err := g.apply(r); err != nil || got != diff.NoChange {
		g.t.Fatalf("a second apply did %q (%v), %v", got, diffs, err)
	}
}

// fails applies and demands an error of a class whose text has a part.
func (g *rig) fails(r provider.Resource, class provider.Class, part string) {
	g.t.Helper()
	change, _, err := g.apply(r)
	if err == nil {
		g.t.Fatalf("apply did %q, expected an error with %q", change, part)
	}
	if provider.ClassOf(err) != class || !strings.Contains(err.Error(), part) {
		g.t.Fatalf("error of class %s: %v\nexpected %s with %q", provider.ClassOf(err), err, class,
			part)
	}
}

func (g *rig) write(name, content string, mode os.FileMode) {
	g.t.Helper()
	if err := os.WriteFile(g.path(name), []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Chmod(g.path(name), mode); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) do(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// has demands the whole content of the rig's directory.
func (g *rig) has(want ...string) {
	g.t.Helper()
	got, err := world(g.dir)
	if err != nil {
		g.t.Fatal(err)
	}
	owner := fmt.Sprintf(" %d:%d", os.Getuid(), os.Getgid())
	got = strings.ReplaceAll(got, owner, "")
	if expect := strings.Join(append(want, ""), "\n"); got != expect {
		g.t.Fatalf("there is\n%sexpected\n%s", got, expect)
	}
}
