package fs

import (
	"os"
	"path/filepath"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// TestArchiveBehindLink follows links to archives, but those that another user may have put there
// to have a file read that is not theirs.
func TestArchiveBehindLink(t *testing.T) {
	g := newRig(t, Archive())
	one, _ := versions(t)
	g.do(os.Chmod(g.dir, 0o755))
	dir := g.path("theirs")
	g.do(os.Mkdir(dir, 0o755))
	g.do(os.WriteFile(g.path("mine.tar"), one, 0o600))
	g.do(os.WriteFile(filepath.Join(dir, "theirs.tar"), one, 0o600))
	g.do(os.Symlink("../mine.tar", filepath.Join(dir, "a.tar")))
	g.do(os.Symlink("theirs.tar", filepath.Join(dir, "b.tar")))
	g.do(os.Symlink("a.tar", filepath.Join(dir, "c.tar")))
	g.do(os.Symlink("d.tar", filepath.Join(dir, "d.tar")))
	from := func(name string) provider.Resource {
		return g.resource(map[string]any{"path": g.path("x" + name),
			"source": filepath.Join(dir, name)})
	}
	for _, name := range []string{"a.tar", "b.tar"} {
		g.must(from(name), diff.Created)
	}
	g.fails(from("d.tar"), provider.NeedsChange, "too many levels of symbolic links")
	if os.Geteuid() != 0 {
		return // nothing can be given to another user
	}
	for _, name := range []string{"theirs.tar", "a.tar", "b.tar", "c.tar", ""} {
		g.do(os.Lchown(filepath.Join(dir, name), 65534, 65534))
	}
	g.do(os.RemoveAll(g.path("xa.tar")))
	g.fails(from("a.tar"), provider.NeedsChange, "put there by the user 65534")
	g.fails(from("c.tar"), provider.NeedsChange, "put there by the user 65534")
	g.do(os.RemoveAll(g.path("xb.tar")))
	g.must(from("b.tar"), diff.Created)
}
