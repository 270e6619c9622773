package pkg

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"southbound/handlers/internal/tool"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// nobody is the number of the user who owns what is not the superuser's in these tests.
const nobody = 65534

// alone reports whether there is only one user, as in a namespace of one's own: nothing can be
// given to another then.
func alone() bool { return os.Getenv("PKGTEST_INSIDE") != "" }

// theirs makes a directory that every user can reach, and gives a tree in it to nobody.
func theirs(t *testing.T, fill func(dir string)) string {
	t.Helper()
	above, err := os.MkdirTemp("/var/tmp", "southbound-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(above) })
	if err := os.Chmod(above, 0o755); err != nil { // for nobody to look into
		t.Fatal(err)
	}
	dir := filepath.Join(above, "root")
	fill(dir)
	command(t, "/", "chown", "-hR", "65534", dir)
	return dir
}

// python returns a Python that every user may run.
func python(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "python3")
		if _, err := tool.RunAs(t.Context(), tool.UserOf(nobody, nobody), nil, path, "-c",
			""); err == nil {
			return path
		}
	}
	t.Fatal("there is no python3 in PATH that every user may run")
	return ""
}

// allOf demands that a user owns all that is in a directory.
func allOf(t *testing.T, dir, user string) {
	t.Helper()
	if out := command(t, "/", "find", dir, "!", "-user", user); out != "" {
		t.Errorf("not of %s: %s", user, out)
	}
}

// TestPipRunsAsTheOwner pins that the Python of an environment gets the rights of its owner, and
// that what it installs is theirs.
func TestPipRunsAsTheOwner(t *testing.T) {
	t.Parallel()
	if alone() {
		return
	}
	var wheels, said string
	venv := theirs(t, func(dir string) {
		environmentOf(t, python(t), dir)
		wheels, said = filepath.Join(dir, "wheels"), filepath.Join(dir, "said")
		if err := os.Mkdir(wheels, 0o755); err != nil {
			t.Fatal(err)
		}
		wheel(t, wheels, "sb_demo", "1.0")
		site := glob(t, filepath.Join(dir, "lib", "python3*", "site-packages"))
		write(t, filepath.Join(site, "own.pth"),
			"import os; open('"+said+"', 'a').write(f'{os.geteuid()} {os.environ[\"HOME\"]}\\n')\n")
		write(t, said, "")
	})
	demo := map[string]any{"name": "sb-demo", "root": venv, "provider": "pip",
		"options": []any{"--no-index", "--find-links", wheels}}
	goes(t, "installed", diff.Created, demo, false)
	allOf(t, venv, "nobody")
	goes(t, "purged", diff.Purged, demo, true)
	raw, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line != "65534 /nonexistent\n" {
			t.Errorf("code of the environment ran as %s", line)
		}
	}
}

// TestNpmRunsAsTheOwner pins that npm, which reads settings and follows links in its prefix, gets
// the rights of whose it is.
func TestNpmRunsAsTheOwner(t *testing.T) {
	t.Parallel()
	if alone() {
		return
	}
	var file string
	prefix := theirs(t, func(dir string) {
		write(t, filepath.Join(dir, "package", "package.json"),
			`{"name": "sb-demo", "version": "1.0.0"}`)
		file = filepath.Join(dir, "demo.tgz")
		command(t, dir, "tar", "czf", file, "package")
	})
	goes(t, "installed", diff.Created, map[string]any{"name": "sb-demo", "root": prefix,
		"provider": "npm", "source": file,
		"options": []any{"--offline", "--cache", filepath.Join(prefix, "cache")}}, false)
	allOf(t, prefix, "nobody")
}

// TestRootOfSeveral pins that nothing is run in an environment of the superuser's in which, or on
// the way to which, somebody else can put code.
func TestRootOfSeveral(t *testing.T) {
	t.Parallel()
	if alone() {
		return
	}
	of := func(root string) map[string]any {
		return map[string]any{"name": "sb-demo", "root": root, "provider": "pip"}
	}
	mine := func(dir string) { // nothing is installed, so it needs no pip
		command(t, "/", "python3", "-m", "venv", "--without-pip", filepath.Join(dir, "venv"))
	}
	above := theirs(t, mine)
	venv := filepath.Join(above, "venv")
	command(t, "/", "chown", "-hR", "0", venv)
	refused(t, "in a directory of another user", provider.NeedsChange, "belongs to", of(venv),
		false)
	command(t, "/", "chown", "0", above)
	goes(t, "of the superuser alone", diff.NoChange, of(venv), true)
	for _, part := range []string{"bin", "pyvenv.cfg", "bin/python"} {
		path := filepath.Join(venv, part)
		if err := os.Lchown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		refused(t, part, provider.NeedsChange, "give all of it to one user", of(venv), false)
		if err := os.Lchown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "/", "chmod", "o+w", venv)
	refused(t, "open to everybody", provider.NeedsChange, "chmod o-w", of(venv), false)
}

// TestSystemRootOfAnother pins that the package managers of a system, which have to be the superuser,
// do nothing in a root in which another user can put settings with hooks, also where the name of the root looks like a
// pattern.
func TestSystemRootOfAnother(t *testing.T) {
	t.Parallel()
	if alone() {
		return
	}
	repo := newRepository(t, "sb-a 1.0")
	hooked := filepath.Join(t.TempDir(), "hooked")
	theirRoot := theirs(t, func(dir string) {
		repo.root(t, dir)
		write(t, filepath.Join(dir, "etc", "apt", "apt.conf.d", "hook"),
			"APT::Update::Pre-Invoke {\"touch "+hooked+"\";};\n"+
				"DPkg::Pre-Invoke {\"touch "+hooked+"\";};\n")
	})
	of := func(root string) map[string]any {
		return map[string]any{"name": "sb-a", "root": root, "provider": "apt"}
	}
	refused(t, "of another user", provider.NeedsChange, "would run as the superuser",
		of(theirRoot), false)
	mine := repo.root(t, filepath.Join(t.TempDir(), "[a]*"))
	for _, part := range []string{"etc", "etc/apt/apt.conf.d/test", "usr/bin", "var/lib/dpkg"} {
		path := filepath.Join(mine, part)
		if err := os.MkdirAll(path, 0o755); err != nil && !errors.Is(err, syscall.ENOTDIR) {
			t.Fatal(err)
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		refused(t, part, provider.NeedsChange, "give all of it to one user", of(mine), false)
		if err := os.Chown(path, 0, nobody); err != nil {
			t.Fatal(err)
		}
		command(t, "/", "chmod", "g+w", path)
		refused(t, part+" of a group", provider.NeedsChange, "chmod g-w", of(mine), false)
		command(t, "/", "chmod", "g-w", path)
	}
	goes(t, "of the superuser alone", diff.Created, of(mine), false)
	if _, err := os.Stat(hooked); err == nil {
		t.Error("a hook of another user ran")
	}
	for _, m := range []manager{dnf{}, apk{}} {
		_, err := m.installed(nil, place{root: theirRoot})
		if provider.ClassOf(err) != provider.NeedsChange {
			t.Errorf("%T: %v", m, err)
		}
	}
}

// TestPipesAreNotWaitedFor pins that what describes packages is read only from regular files.
func TestPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "lib", "node_modules", "x", "package.json")
	if err := os.MkdirAll(filepath.Dir(pipe), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if name, version := metadata(pipe); name+version != "" {
		t.Error(name, version)
	}
	refused(t, "npm", provider.NeedsChange, "no regular file", map[string]any{"name": "x",
		"root": dir, "provider": "npm"}, false)
}
