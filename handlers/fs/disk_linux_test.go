package fs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// mountSmall mounts a file system in memory that holds little, and reports whether this process
// may.
func (g *rig) mountSmall(name, options string) bool {
	g.t.Helper()
	g.do(os.MkdirAll(g.path(name), 0o755))
	if err := unix.Mount("tmpfs", g.path(name), "tmpfs", 0, options); err != nil {
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
			g.t.Fatal(err)
		}
		return false
	}
	g.t.Cleanup(func() {
		if err := unix.Unmount(g.path(name), unix.MNT_DETACH); err != nil {
			g.t.Error(err)
		}
	})
	return true
}

// TestFullDisk writes more than there is room for: on a small file system where this process may
// mount one, and everywhere with each call that can meet a full disk failing.
func TestFullDisk(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 32<<10) // 512 KiB
	t.Run("a small file system", func(t *testing.T) {
		g := newRig(t, File())
		if !g.mountSmall("disk", "size=256k") {
			return // the rest of this test does it for everybody
		}
		upload := g.host.AddFile([]byte(long))
		for _, content := range []any{long, upload} {
			g.fails(g.resource(map[string]any{"path": g.path("disk/new"), "content": content}),
				provider.Retryable, "no space left on device; make room on the disk")
		}
		g.write("disk/a", "old", 0o640)
		g.fails(g.resource(map[string]any{"path": g.path("disk/a"), "content": long,
			"backup": true}), provider.Retryable, "make room")
		g.has("disk dtrwxrwxrwx", `disk/a -rw-r----- "old"`)
		g.must(g.resource(map[string]any{"path": g.path("disk/a"), "content": "new"}), diff.Updated)
		g.has("disk dtrwxrwxrwx", `disk/a -rw-r----- "new"`)
	})
	t.Run("no room for another name", func(t *testing.T) {
		d := Directory()
		g := newRig(t, d)
		if !g.mountSmall("disk", "nr_inodes=3") {
			return
		}
		for i := range 3 {
			r := g.resource(map[string]any{"path": g.path(fmt.Sprint("disk/", i))})
			if i < 2 {
				g.must(r, diff.Created)
				continue
			}
			g.fails(r, provider.Retryable, "make room")
		}
	})
	for kind, fileSystem := range fileSystems() {
		for _, c := range changes() {
			for _, call := range []string{"tmpfile", "create", "write", "fsync", "link", "linkfile",
				"rename", "mkdir", "symlink", "fchown", "fchmod"} {
				t.Run(kind+"/"+c.name+"/"+call,
					func(t *testing.T) { fullAt(t, c, call, fileSystem) })
			}
		}
	}
}

// fullAt carries a change out while one call always meets a full disk.
func fullAt(t *testing.T, c change, call string, fileSystem func(string) error) {
	t.Helper()
	before, after, _ := c.uninterrupted(t, fileSystem)
	met := false
	g, r := c.start(t, &disk.System{Before: func(now string) error {
		if now == call {
			met = true
			return unix.ENOSPC
		}
		return fileSystem(now)
	}})
	_, _, err := g.apply(r)
	if !met {
		return
	}
	if err == nil || provider.ClassOf(err) != provider.Retryable ||
		!strings.Contains(err.Error(), "make room on the disk") {
		t.Fatalf("%s: %v", provider.ClassOf(err), err)
	}
	c.whole(t, g, before, after, 0)
	if left := g.shape(false); strings.Contains(left, ".southbound-") {
		t.Fatalf("there is\n%s", left)
	}
	c.again(t, g, r, after, fileSystem, 0)
}

// TestReadOnlyTargets changes what cannot be changed.
func TestReadOnlyTargets(t *testing.T) {
	for _, c := range changes() {
		t.Run("a read-only file system/"+c.name, func(t *testing.T) {
			g := newRig(t, c.handler(nil))
			g.do(os.Mkdir(g.path("disk"), 0o755))
			mounted := g.mountSmall("disk", "")
			inner := &rig{t: t, def: g.def, typ: g.typ, host: g.host, dir: g.path("disk")}
			c.before(inner)
			r := inner.resource(c.attrs(inner))
			r.Purged = c.purged
			before := inner.shape(false)
			text := "read-only; mount it for writing"
			switch {
			case mounted:
				g.do(unix.Mount("", g.path("disk"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			default:
				// then this process is not the superuser, for whom permissions are not an obstacle
				g.do(os.Chmod(g.path("disk"), 0o500))
				t.Cleanup(func() { g.do(os.Chmod(g.path("disk"), 0o700)) })
				text = "run it as a user that may"
			}
			if !mounted && strings.Contains(c.name, "mode") || !mounted && c.partly {
				return // what is in the directory may still be changed
			}
			if err := inner.would(r); !strings.Contains(c.name, "mode") &&
				(err == nil || !strings.Contains(err.Error(), text)) {
				t.Errorf("a dry run says %v, expected %q", err, text)
			}
			inner.fails(r, provider.Terminal, text)
			if after := inner.shape(false); after != before {
				t.Fatalf("there was\n%sand now is\n%s", before, after)
			}
		})
	}
}

// TestReadingNeedsNoWriting checks what is on a read-only file system, with something a crash left
// there.
func TestReadingNeedsNoWriting(t *testing.T) {
	d := File()
	d.Handler = file{&disk.System{Before: func(call string) error {
		if call != "stat" && call != "open" {
			return unix.EROFS
		}
		return nil
	}}}
	g := newRig(t, d)
	g.write("a", "x", 0o600)
	g.write(disk.Leftover("a"), "half", 0o600)
	r := g.resource(map[string]any{"path": g.path("a"), "content": "x"})
	if change, _, err := g.apply(r); err != nil || change != diff.NoChange {
		t.Fatal(change, err)
	}
}

// TestOtherFileSystems does not remove what is mounted below a directory, nor what is on it.
func TestOtherFileSystems(t *testing.T) {
	for _, purged := range []bool{false, true} {
		t.Run(fmt.Sprintf("purged %t", purged), func(t *testing.T) {
			g := newRig(t, Directory())
			g.do(os.MkdirAll(g.path("a/deep"), 0o755))
			g.write("a/other", "", 0o600)
			if !g.mountSmall("a/deep/disk", "size=64k") {
				return
			}
			g.write("a/deep/disk/precious", "", 0o600)
			r := g.resource(map[string]any{"path": g.path("a"), "recurse_purge": true})
			r.Purged = purged
			g.fails(r, provider.Retryable,
				"another file system is mounted at "+g.path("a/deep/disk")+"; unmount it")
			if _, err := os.Stat(g.path("a/deep/disk/precious")); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("the directory itself is a mount point", func(t *testing.T) {
		g := newRig(t, Directory())
		if !g.mountSmall("disk", "size=64k") {
			return
		}
		g.write("disk/junk", "", 0o600)
		r := g.resource(map[string]any{"path": g.path("disk"), "recurse_purge": true})
		g.must(r, diff.Updated) // what is on it may go
		g.has("disk dtrwxrwxrwx")
		r.Purged = true
		g.fails(r, provider.Retryable, "another file system is mounted at "+g.path("disk"))
	})
}

// TestWithoutPermission meets directories that may be passed and not read, and such that may not
// even be passed.
func TestWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		explainsPermission(t)
		return
	}
	g := newRig(t, File())
	g.do(os.Mkdir(g.path("pass"), 0o755))
	g.write("pass/a", "x", 0o644)
	g.do(os.Chmod(g.path("pass"), 0o100))
	t.Cleanup(func() { g.do(os.Chmod(g.path("pass"), 0o700)) })
	r := g.resource(map[string]any{"path": g.path("pass/a"), "content": "x"})
	if change, _, err := g.apply(r); err != nil || change != diff.NoChange {
		t.Fatal(change, err)
	}
	g.fails(g.resource(map[string]any{"path": g.path("pass/a"), "content": "y"}), provider.Terminal,
		"run it as a user that may")
	g.do(os.Chmod(g.path("pass"), 0o000))
	g.fails(r, provider.Terminal, "run it as a user that may")
}

// explainsPermission is for the superuser, whom no permission keeps away.
func explainsPermission(t *testing.T) {
	t.Helper()
	for _, err := range []error{unix.EACCES, unix.EPERM} {
		got := disk.Explain("change "+filepath.Join("/", "a"), err)
		if provider.ClassOf(got) != provider.Terminal ||
			!strings.Contains(got.Error(), "not even the superuser may") {
			t.Error(got)
		}
	}
}
