package fs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// noUnnamedFiles is a file system on which every file has a name.
func noUnnamedFiles(call string) error {
	if call == "tmpfile" {
		return unix.EOPNOTSUPP
	}
	return nil
}

// noHardLinks is a file system on which a file has one name only, such as those of memory cards.
func noHardLinks(call string) error {
	if call == "link" {
		return unix.EPERM
	}
	return noUnnamedFiles(call)
}

// kinds of file systems that tests run on.
func fileSystems() map[string]func(string) error {
	return map[string]func(string) error{
		"usual": func(string) error { return nil }, "every file has a name": noUnnamedFiles,
		"no hard links": noHardLinks,
	}
}

// change is one change of one resource, whose every step is a place to be interrupted at.
type change struct {
	name    string
	handler func(*disk.System) provider.Definition
	before  func(g *rig) // what is there
	attrs   func(g *rig) map[string]any
	purged  bool
	partly  bool // states between old and new are fine: many things change
}

func withFile(s *disk.System) provider.Definition { d := File(); d.Handler = file{s}; return d }
func withDir(s *disk.System) provider.Definition {
	d := Directory()
	d.Handler = directory{s}
	return d
}
func withLink(s *disk.System) provider.Definition {
	d := Symlink()
	d.Handler = symlink{s}
	return d
}

func changes() []change {
	empty := func(*rig) {}
	old := func(g *rig) { g.write("a", "old", 0o640) }
	attrs := func(more ...any) func(*rig) map[string]any {
		return func(g *rig) map[string]any {
			out := map[string]any{"path": g.path("a")}
			for i := 0; i < len(more); i += 2 {
				out[fmt.Sprint(more[i])] = more[i+1]
			}
			return out
		}
	}
	return []change{
		{name: "create a file", handler: withFile, before: empty,
			attrs: attrs("content", "new", "mode", "0600")},
		{name: "create an empty file", handler: withFile, before: empty,
			attrs: attrs("owner", int64(os.Getuid()))},
		{name: "replace a file", handler: withFile, before: old, attrs: attrs("content", "new")},
		{name: "replace a long file", handler: withFile, before: old,
			attrs: attrs("content", strings.Repeat("new ", 50_000))},
		{name: "replace a file and keep the old one", handler: withFile, before: old,
			attrs: attrs("content", "new", "backup", true)},
		{name: "keep the old one beside an older one", handler: withFile,
			attrs: attrs("content", "new", "backup", ".old"),
			before: func(g *rig) {
				old(g)
				g.write("a.old", "older", 0o600)
				g.write("a.old.1", "older still", 0o600)
			}},
		{name: "keep what may run as another user", handler: withFile,
			attrs:  attrs("content", "new", "backup", true),
			before: func(g *rig) { g.write("a", "old", 0o755|os.ModeSetuid) }},
		{name: "replace a link by a file", handler: withFile, attrs: attrs("content", "new"),
			before: func(g *rig) {
				g.write("b", "linked", 0o600)
				g.do(os.Symlink("b", g.path("a")))
			}},
		{name: "replace a link by a file and keep it", handler: withFile,
			attrs:  attrs("content", "new", "backup", true),
			before: func(g *rig) { g.do(os.Symlink("b", g.path("a"))) }},
		{name: "change the mode of a file", handler: withFile, before: old,
			attrs: attrs("content", "old", "mode", "0600")},
		{name: "change the mode of a file with two names", handler: withFile,
			attrs:  attrs("content", "old", "mode", "0600"),
			before: func(g *rig) { old(g); g.do(os.Link(g.path("a"), g.path("b"))) }},
		{name: "purge a file", handler: withFile, before: old, attrs: attrs(), purged: true},
		{name: "purge a file and keep it", handler: withFile, before: old,
			attrs: attrs("backup", true), purged: true},
		{name: "create a directory", handler: withDir, before: empty, attrs: attrs("mode", "0700")},
		{name: "empty a directory", handler: withDir, before: tree,
			attrs: attrs("recurse_purge", true, "keep", []any{"kept"}), partly: true},
		{name: "purge a directory", handler: withDir, before: tree,
			attrs: attrs("recurse_purge", true), purged: true, partly: true},
		{name: "create a link", handler: withLink, before: empty, attrs: attrs("target", "new")},
		{name: "create a link with an owner", handler: withLink, before: empty,
			attrs: attrs("target", "new", "owner", int64(os.Getuid()))},
		{name: "change a link", handler: withLink,
			before: func(g *rig) { g.do(os.Symlink("old", g.path("a"))) },
			attrs:  attrs("target", "new")},
		{name: "purge a link", handler: withLink,
			before: func(g *rig) { g.do(os.Symlink("old", g.path("a"))) },
			attrs:  attrs("target", "old"), purged: true},
	}
}

// tree makes a directory with something of each kind in it, and a link that leads out of it.
func tree(g *rig) {
	g.do(os.MkdirAll(g.path("a/deep/deeper"), 0o755))
	g.do(os.MkdirAll(g.path("a/kept"), 0o755))
	g.do(os.MkdirAll(g.path("outside"), 0o755))
	for _, name := range []string{"a/1", "a/2", "a/deep/3", "a/deep/deeper/4", "a/kept/5",
		"outside/6"} {
		g.write(name, name, 0o600)
	}
	g.do(os.Symlink(g.path("outside"), g.path("a/link")))
	g.do(os.Symlink("../../outside", g.path("a/deep/link")))
	g.do(syscall.Mkfifo(g.path("a/pipe"), 0o600))
}

func (c change) start(t *testing.T, sys *disk.System) (*rig, provider.Resource) {
	t.Helper()
	g := newRig(t, c.handler(sys))
	c.before(g)
	r := g.resource(c.attrs(g))
	r.Purged = c.purged
	return g, r
}

// shape is what is there, whatever the place; of "a" alone when only is set.
func (g *rig) shape(only bool) string {
	g.t.Helper()
	all, err := world(g.dir)
	g.do(err)
	if !only {
		return all
	}
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, "a ") {
			return line
		}
	}
	return ""
}

// uninterrupted returns what there is before a change and after it, and how many steps it takes.
func (c change) uninterrupted(
	t *testing.T, fileSystem func(string) error,
) (before, after *rig, steps int) {
	t.Helper()
	before, _ = c.start(t, nil)
	after, r := c.start(t, &disk.System{Before: func(call string) error {
		steps++
		return fileSystem(call)
	}})
	if did, _, err := after.apply(r); err != nil || did == diff.NoChange {
		t.Fatalf("it did %q, %v", did, err)
	}
	return before, after, steps
}

var errCrash = errors.New("crashed")

// stopAt fails every call from the n-th on: nothing reaches the disk any more, as if the process
// had been killed there.
func stopAt(n int, fileSystem func(string) error) *disk.System {
	calls := 0
	return &disk.System{Before: func(call string) error {
		if calls++; calls > n {
			return errCrash
		}
		return fileSystem(call)
	}}
}

// failAt fails the n-th call only: what cleans up after it works.
func failAt(n int, fileSystem func(string) error) *disk.System {
	calls := 0
	return &disk.System{Before: func(call string) error {
		if calls++; calls == n+1 {
			return unix.EIO
		}
		return fileSystem(call)
	}}
}

// TestInterrupted stops every change before each of its steps. The old or the new thing is there as
// a whole, and the next run ends where an uninterrupted one does, with nothing left over.
func TestInterrupted(t *testing.T) {
	for kind, fileSystem := range fileSystems() {
		for _, c := range changes() {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				before, after, steps := c.uninterrupted(t, fileSystem)
				for n := range steps {
					g, r := c.start(t, stopAt(n, fileSystem))
					if _, _, err := g.apply(r); err == nil {
						t.Fatalf("stopped at step %d of %d, and no error", n, steps)
					}
					c.whole(t, g, before, after, n)
					c.again(t, g, r, after, fileSystem, n)
				}
			})
		}
	}
}

// TestFailedStep fails each step of every change. Nothing is left over even before the next run.
func TestFailedStep(t *testing.T) {
	for kind, fileSystem := range fileSystems() {
		for _, c := range changes() {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				before, after, steps := c.uninterrupted(t, fileSystem)
				for n := range steps {
					g, r := c.start(t, failAt(n, fileSystem))
					if _, _, err := g.apply(r); err == nil {
						t.Fatalf("step %d of %d failed, and no error", n, steps)
					} else if !errors.Is(err, unix.EIO) ||
						provider.ClassOf(err) != provider.Retryable {
						t.Fatalf("step %d: error of class %s: %v", n, provider.ClassOf(err), err)
					}
					c.whole(t, g, before, after, n)
					if left := g.shape(false); strings.Contains(left, ".southbound-") {
						t.Fatalf("after step %d failed, there is\n%s", n, left)
					}
					c.again(t, g, r, after, fileSystem, n)
				}
			})
		}
	}
}

// whole demands the old thing or the new one.
func (c change) whole(t *testing.T, g, before, after *rig, n int) {
	t.Helper()
	if now := g.shape(true); !c.partly && now != before.shape(true) && now != after.shape(true) {
		t.Fatalf("interrupted at step %d, there is\n%s", n, now)
	}
}

// again demands that another run ends as an uninterrupted one.
func (c change) again(
	t *testing.T, g *rig, r provider.Resource, after *rig, fileSystem func(string) error, n int,
) {
	t.Helper()
	g.def = c.handler(&disk.System{Before: fileSystem})
	if _, _, err := g.apply(r); err != nil {
		t.Fatalf("the run after step %d: %v", n, err)
	}
	if did, diffs, err := g.apply(r); err != nil || did != diff.NoChange {
		t.Fatalf("a second run after step %d did %q (%v), %v", n, did, diffs, err)
	}
	if got, want := g.shape(false), after.shape(false); got != want {
		t.Fatalf("interrupted at step %d, in the end there is\n%sexpected\n%s", n, got, want)
	}
}

// variables that make this test's program the one that is killed.
const (
	crashDir  = "SOUTHBOUND_TEST_CRASH_DIR"
	crashStep = "SOUTHBOUND_TEST_CRASH_STEP"
)

// crashChild kills its own process before a step of a change, and reports whether it was asked to.
func crashChild() bool {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return false
	}
	step, _ := strconv.Atoi(os.Getenv(crashStep))
	calls := 0
	h := file{&disk.System{Before: func(string) error {
		if calls++; calls > step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}}}
	r := provider.Resource{Attributes: map[string]any{"path": filepath.Join(dir, "a"),
		"content": strings.Repeat("new ", 50_000), "backup": true}}
	ctx := providertest.NewHost(nil).Context(context.Background(), provider.Options{})
	if _, err := h.Read(ctx, provider.ReadRequest{Resource: r}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, err := h.Update(ctx,
		provider.UpdateRequest{Resource: r,
			Changes: map[string]diff.Diff{"content": {}}}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// TestKilled does the same with a process that is really killed: there is nothing of it that a
// stopped call does not show.
func TestKilled(t *testing.T) {
	c := change{name: "replace", handler: withFile,
		before: func(g *rig) { g.write("a", "old", 0o640) }, attrs: func(g *rig) map[string]any {
			return map[string]any{"path": g.path("a"), "content": strings.Repeat("new ", 50_000),
				"backup": true}
		}}
	fallback := func(string) error { return nil }
	before, after, steps := c.uninterrupted(t, fallback)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for n := range steps + 1 {
		g, r := c.start(t, nil)
		child := exec.CommandContext(t.Context(), program)
		child.Env = append(os.Environ(), crashDir+"="+g.dir, crashStep+"="+strconv.Itoa(n))
		out, err := child.CombinedOutput()
		if ended := child.ProcessState; (n == steps) != (err == nil) ||
			n < steps && !strings.Contains(ended.String(), "killed") {
			t.Fatalf("step %d of %d: %v %s", n, steps, err, out)
		}
		c.whole(t, g, before, after, n)
		c.again(t, g, r, after, fallback, n)
	}
}
