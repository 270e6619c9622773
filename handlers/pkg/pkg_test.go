package pkg

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
)

// TestAptConformance works with the real apt and dpkg in root directories of its own.
func TestAptConformance(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, "sb-a 1.0", "sb-a 1.1")
	prepared := repo.root(t, t.TempDir())
	ctx := providertest.NewHost(nil).Context(t.Context(),
		provider.Options{ID: "pkg::Package[a,name=x]"})
	if _, err := (apt{}).get(ctx, place{root: prepared}, "update"); err != nil {
		t.Fatal(err)
	}
	providertest.Run(t, providertest.Subject{Definition: Package(),
		New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
			root := filepath.Join(dir, "root")
			command(t, "/", "cp", "-a", prepared, root)
			attrs := func(name, version string) map[string]any {
				out := map[string]any{"name": name, "root": root, "provider": "apt"}
				if version != "" {
					out["version"] = version
				}
				return out
			}
			return providertest.Case{
				Attributes: attrs("sb-a", "1.0"),
				Updates:    []map[string]any{{"version": "latest"}},
				Unlisted:   "the machine",
				World: func() (string, error) {
					have, err := (apt{}).installed(ctx, place{root: root})
					return fmt.Sprint(have), err
				},
			}, nil
		}})
}

// run does what the engine does for one resource: read, and what follows from that.
func run(t *testing.T, attrs map[string]any, purged bool) (diff.Change, *providertest.Host, error) {
	t.Helper()
	out := providertest.Once(t.Context(), Package(), nil, attrs, purged)
	return out.Change, out.Host, out.Err
}

// goes runs twice: the first does what is wanted, the second has nothing to do.
func goes(t *testing.T, what string, want diff.Change, attrs map[string]any, purged bool) {
	t.Helper()
	for _, expected := range []diff.Change{want, diff.NoChange} {
		if got, _, err := run(t, attrs, purged); err != nil || got != expected {
			t.Fatalf("%s: %q, %v, want %q", what, got, err, expected)
		}
	}
}

func with(attrs map[string]any, more ...any) map[string]any {
	out := map[string]any{}
	for k, v := range attrs {
		out[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// TestApt goes through the life of packages: dependencies, lists that are old, another version,
// drift, sources, what is not to be had.
func TestApt(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, "sb-lib 1:1.0-2~a", "sb-app 1.0 sb-lib")
	root := repo.root(t, t.TempDir())
	app := map[string]any{"name": "sb-app", "root": root, "provider": "apt"}
	goes(t, "lists that were never fetched are fetched", diff.Created, app, false)
	lib := with(app, "name", "sb-lib")
	goes(t, "what it needs is there", diff.NoChange, with(lib, "version", "1:1.0-2~a"), false)
	repo.add(t, "sb-app 1.1 sb-lib")
	goes(t, "the newest that is known", diff.NoChange, with(app, "version", "latest"), false)
	goes(t, "a version that came since", diff.Updated, with(app, "version", "1.1"), false)
	goes(t, "the newest", diff.NoChange, with(app, "version", "latest"), false)
	goes(t, "a lower version", diff.Updated, with(app, "version", "1.0"), false)
	goes(t, "the newest again", diff.Updated, with(app, "version", "latest"), false)
	command(t, "/", "dpkg", "--root="+root, "--force-unsafe-io", "--remove", "sb-app")
	goes(t, "what was removed behind our back", diff.Created, app, false)
	goes(t, "under another name", diff.NoChange, with(app, "name", "app", "package", "sb-app"),
		false)
	goes(t, "with its architecture", diff.NoChange, with(app, "name", "sb-app:all"), false)
	goes(t, "purged", diff.Purged, with(app, "configuration", true), true)
	goes(t, "what it needed stays", diff.NoChange, lib, false)
	goes(t, "from a file", diff.Created, with(app, "source", repo.deb("sb-app", "1.0")), false)
	goes(t, "and that is its version", diff.NoChange, with(app, "version", "1.0"), false)
	if got, err := (apt{}).chosen(providertest.NewHost(nil).Context(t.Context(),
		provider.Options{}), place{root: root}); err != nil || !slices.Equal(got, []string{"sb-app"}) {
		t.Errorf("asked for by somebody: %v, %v", got, err)
	}
	if _, _, err := run(t, with(app, "name", "sb-none"),
		false); provider.ClassOf(err) != provider.Retryable ||
		!strings.Contains(fmt.Sprint(err), "nable to locate package sb-none") {
		t.Error(err)
	}
	if _, _, err := run(t, with(app, "version", "9"), false); !strings.Contains(fmt.Sprint(err),
		"Version '9' for 'sb-app' was not found") {
		t.Error(err)
	}
	for _, name := range []string{"sb-app-", "sb.app", "sb-app+"} {
		if _, _, err := run(t, with(app, "name", "x", "package", name), false); err == nil {
			t.Errorf("%s is taken for something", name)
		}
		goes(t, "what is there stays, whatever "+name+" could mean", diff.NoChange,
			with(app, "version", "1.0"), false)
	}
	batches(t, root)
}

// batches installs several at once, one of which cannot be had.
func batches(t *testing.T, root string) {
	t.Helper()
	b, _ := provider.As[provider.BatchApplier](Package().Handler)
	host := providertest.NewHost(nil)
	var items []provider.BatchChange
	for _, name := range []string{"sb-app", "sb-none", "sb-lib"} {
		r := provider.Resource{ID: "pkg::Package[a,name=x]", Type: "pkg::Package",
			Attributes: map[string]any{"name": name, "root": root, "provider": "apt"}}
		items = append(items,
			provider.BatchChange{Context: host.Context(t.Context(),
				provider.Options{ID: r.ID, Desired: r}), Change: diff.Created, Resource: r})
	}
	got := b.ApplyBatch(t.Context(), items)
	if got[0].Err != nil || got[1].Err == nil || got[2].Err != nil {
		t.Errorf("%v: one that cannot be had keeps no other back", got)
	}
}

// refused demands that a resource is refused with a class and a text, and that it stays so.
func refused(
	t *testing.T, why string, class provider.Class, text string, attrs map[string]any, purged bool,
) {
	t.Helper()
	for range 2 {
		if _, _, err := run(t, attrs, purged); err == nil || provider.ClassOf(err) != class ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v is %s, want %s: %s", why, err, provider.ClassOf(err), class, text)
		}
	}
}

// TestAptDoesNoMore pins that what was not asked for is left alone, and that what cannot be is
// refused with the reason.
func TestAptDoesNoMore(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, "sb-lib 1.0", "sb-app 1.0 sb-lib", "sb-mta 1.0 Provides: sb-mail",
		"sb-foe 1.0 Conflicts: sb-app", "sb-conf 1.0 Conffile")
	root := repo.root(t, t.TempDir())
	of := func(name string, more ...any) map[string]any {
		return with(map[string]any{"name": name, "root": root, "provider": "apt"}, more...)
	}
	goes(t, "nothing is in a root that is yet to be", diff.NoChange,
		of("sb-app", "root", filepath.Join(root, "none")), true)
	goes(t, "one and what it needs", diff.Created, of("sb-app"), false)
	refused(t, "what another needs", provider.NeedsChange, "it is needed by sb-app", of("sb-lib"),
		true)
	goes(t, "it is still there", diff.NoChange, of("sb-app"), false)
	refused(t, "what another stands in the way of", provider.NeedsChange,
		"it cannot be together with sb-app", of("sb-foe"), false)
	goes(t, "that is still there", diff.NoChange, of("sb-app"), false)
	refused(t, "a name that others provide", provider.Retryable, "no package has this name",
		of("sb-mail"), false)
	goes(t, "those are not installed for it", diff.NoChange, of("sb-mta"), true)
	refused(t, "a source of another version", provider.NeedsChange,
		"version 1.0 of sb-mta was installed where 2.0 is wanted",
		of("sb-mta", "version", "2.0", "source", repo.deb("sb-mta", "1.0")), false)
	refused(t, "a source of another package", provider.NeedsChange,
		"there is still no package sb-other", of("sb-other", "source", repo.deb("sb-mta", "1.0")),
		false)

	goes(t, "with configuration", diff.Created, of("sb-conf"), false)
	goes(t, "removed", diff.Purged, of("sb-conf"), true)
	if _, err := os.Stat(filepath.Join(root, "etc", "sb-conf")); err != nil {
		t.Error("its configuration went")
	}
	goes(t, "and then its configuration", diff.Purged, of("sb-conf", "configuration", true), true)
	if _, err := os.Stat(filepath.Join(root, "etc", "sb-conf")); err == nil {
		t.Error("its configuration stayed")
	}
	repo.add(t, "sb-mta 1.1 Provides: sb-mail")
	command(t, "/", "apt-mark", "-o", "Dir="+root, "-o",
		"Dir::State::status="+filepath.Join(root, "var/lib/dpkg/status"), "-o",
		"Dpkg::Options::=--root="+root, "hold", "sb-mta")
	refused(t, "what is held", provider.Terminal, "apt-mark unhold", of("sb-mta", "version", "1.1"),
		false)
	refused(t, "what is held is not removed", provider.Terminal, "apt-mark unhold", of("sb-mta"),
		true)
	goes(t, "unless that is said", diff.Updated, of("sb-mta", "version", "1.1", "options",
		[]any{"--allow-change-held-packages"}), false)
}

// TestAptMends finishes what was cut off or done by halves.
func TestAptMends(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, "sb-lib 1.0", "sb-app 1.0 sb-lib", "sb-else 1.0")
	root := repo.root(t, t.TempDir())
	of := func(name string) map[string]any {
		return map[string]any{"name": name, "root": root, "provider": "apt"}
	}
	goes(t, "something", diff.Created, of("sb-else"), false)
	// without what it needs, and not set up
	command(t, "/", "dpkg", "--root="+root, "--force-unsafe-io", "--unpack",
		repo.deb("sb-app", "1.0"))
	goes(t, "unpacked, and lacking", diff.Created, of("sb-app"), false)
	command(t, "/", "dpkg", "--root="+root, "--force-unsafe-io", "--unpack",
		repo.deb("sb-else", "1.0"))
	write(t, filepath.Join(root, "var/lib/dpkg/updates/0001"),
		"Package: sb-lib\nStatus: install ok unpacked\nVersion: 1.0\nArchitecture: all\n"+
			"Maintainer: T <t@example.com>\nDescription: a test\n")
	goes(t, "dpkg was killed", diff.Purged, of("sb-app"), true)
	goes(t, "and is as it was", diff.NoChange, of("sb-else"), false)
	command(t, "/", "dpkg", "--root="+root, "--force-unsafe-io", "--force-depends", "--install",
		repo.deb("sb-app", "1.0"))
	command(t, "/", "dpkg", "--root="+root, "--force-unsafe-io", "--force-depends", "--remove",
		"sb-lib")
	goes(t, "something else lacks what it needs", diff.Purged, of("sb-else"), true)

	repo.add(t, "sb-fails 1.0 Fails", "sb-needs 1.0 sb-nowhere")
	refused(t, "what it needs cannot be had", provider.Retryable, "sb-needs : Depends: sb-nowhere",
		of("sb-needs"), false)
	if _, _, err := run(t, of("sb-fails"), false); err == nil ||
		!strings.Contains(err.Error(), "sb-fails") {
		t.Errorf("one that cannot be set up: %v", err)
	}
	goes(t, "another, though each run fails for the one that cannot be set up", diff.Created,
		of("sb-else"), false)
	goes(t, "and is removed", diff.Purged, of("sb-else"), true)
}

// TestPip works with a real virtual environment and wheels in a directory.
func TestPip(t *testing.T) {
	t.Parallel()
	wheels, venv := t.TempDir(), filepath.Join(t.TempDir(), "venv")
	wheel(t, wheels, "sb_demo", "1.0")
	wheel(t, wheels, "sb_demo", "1.1")
	environment(t, venv)
	demo := map[string]any{"name": "SB.demo", "root": venv, "provider": "pip",
		"options": []any{"--no-index", "--find-links", wheels}}
	goes(t, "a version", diff.Created, with(demo, "version", "1.0"), false)
	goes(t, "any version", diff.NoChange, demo, false)
	goes(t, "the version, written otherwise", diff.NoChange, with(demo, "version", "1"), false)
	goes(t, "the newest", diff.Updated, with(demo, "version", "latest"), false)
	goes(t, "nothing is in an environment that is yet to be", diff.NoChange,
		with(demo, "root", venv+"2"), true)
	if err := os.RemoveAll(glob(t, filepath.Join(venv, "lib", "python3*", "site-packages",
		"sb_demo-1.1.dist-info"))); err != nil {
		t.Fatal(err)
	}
	goes(t, "what was removed behind our back", diff.Created,
		with(demo, "source", filepath.Join(wheels, "sb_demo-1.0-py3-none-any.whl")), false)
	goes(t, "purged", diff.Purged, demo, true)
	if _, _, err := run(t, with(demo, "name", "sb-none"), false); !strings.Contains(fmt.Sprint(err),
		"No matching distribution found for sb-none") {
		t.Error(err)
	}
}

// environment makes a virtual environment. It uses the pip that is there, and gets its own, which
// takes long, where there is none.
func environment(t *testing.T, dir string) {
	t.Helper()
	environmentOf(t, "python3", dir)
}

// environmentOf makes one with a Python.
func environmentOf(t *testing.T, python, dir string) {
	t.Helper()
	command(t, "/", python, "-m", "venv", "--without-pip", "--system-site-packages", dir)
	if exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "python"), "-m", "pip",
		"--version").Run() != nil {
		command(t, "/", python, "-m", "venv", "--clear", dir)
	}
}

func glob(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatal(pattern, found, err)
	}
	return found[0]
}

// wheel makes a package of Python.
func wheel(t *testing.T, dir, name, version string) {
	t.Helper()
	info := name + "-" + version + ".dist-info/"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, file := range [][2]string{{name + ".py", "version = '" + version + "'\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"},
		{info + "WHEEL",
			"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD",
			name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		w, err := z.Create(file[0])
		if err == nil {
			_, err = io.WriteString(w, file[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name+"-"+version+"-py3-none-any.whl"), b.String())
}

// TestNpm works with the real npm, a prefix, and packages that are files.
func TestNpm(t *testing.T) {
	t.Parallel()
	prefix, work := t.TempDir(), t.TempDir()
	archive := func(name, version string) string {
		dir := filepath.Join(work, version)
		about, err := json.Marshal(map[string]string{"name": name, "version": version})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "package", "package.json"), string(about))
		file := filepath.Join(work, version+".tgz")
		command(t, dir, "tar", "czf", file, "package")
		return file
	}
	demo := map[string]any{"name": "@sb/demo", "root": prefix, "provider": "npm",
		"options": []any{"--offline", "--cache", filepath.Join(work, "cache")}}
	goes(t, "from a file", diff.Created, with(demo, "source", archive("@sb/demo", "1.0.0")), false)
	goes(t, "another version", diff.Updated, with(demo, "source", archive("@sb/demo", "1.1.0"),
		"version", "1.1.0"), false)
	goes(t, "purged", diff.Purged, demo, true)
}

// TestGetsByGit pins that pip and npm get packages by git as this process would: with its ssh, and
// with the keys of its agent.
func TestGetsByGit(t *testing.T) {
	work := t.TempDir()
	venv := filepath.Join(work, "venv")
	environment(t, venv)
	for _, manager := range []string{"pip", "npm"} {
		asked := filepath.Join(work, "asked-by-"+manager)
		t.Setenv("GIT_SSH_COMMAND", `sh -c 'echo "$SSH_AUTH_SOCK" >`+asked+`; exit 1'`)
		t.Setenv("SSH_AUTH_SOCK", "socket-of-the-agent")
		demo := map[string]any{"name": "demo", "root": venv, "provider": manager,
			"source": "git+ssh://git@nowhere.invalid/demo.git"}
		if manager == "npm" {
			demo = with(demo, "root", filepath.Join(work, "prefix"), "options",
				[]any{"--cache", filepath.Join(work, "cache")})
		}
		_, _, err := run(t, demo, false)
		if got, failed := os.ReadFile(asked); failed != nil ||
			string(got) != "socket-of-the-agent\n" {
			t.Errorf("%s: ssh was run with %q, %v; %v", manager, got, failed, err)
		}
	}
}

// TestOthers reads what package managers that are not on this machine print.
func TestOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m              manager
		version, asked string
		want           bool
	}{
		{dnf{}, "1:1.0-2.fc40", "1:1.0-2.fc40", true}, {dnf{}, "1:1.0-2.fc40", "1.0", true},
		{dnf{}, "1:1.0-2.fc40", "1.0-2.fc40", true}, {dnf{}, "1:1.0-2.fc40", "2:1.0", false},
		{dnf{}, "1.0-2", "1.0-1", false},
		{dnf{}, "1.0-2", "0:1.0-2", true}, {pip{}, "1.0.0", "1", true},
		{pip{}, "1.0rc1", "1.0.0-RC1", true}, {pip{}, "1.0", "1.0.post1", false},
		{pip{}, "10", "1", false}, {pip{}, "1.0+a.b", "1+a-b", true},
		{npm{}, "1.0.0", "v1.0.0", true}, {npm{}, "1.0.0", "1", false},
		{apt{}, "1.0-1", "1.0", false},
	} {
		if got := c.m.satisfies(c.version, c.asked); got != c.want {
			t.Errorf("%T: %s is %s: %t", c.m, c.version, c.asked, got)
		}
	}
	if got := tabbed(
		"bash\t5.2.26-3.fc40\nvim\t2:9.1-1\nzlib\t0:1.3-1\n"); got["bash"] != "5.2.26-3.fc40" ||
		got["vim"] != "2:9.1-1" || got["zlib"] != "1.3-1" {
		t.Error(got)
	}
	if got := apkDatabase("C:Q1\nP:musl\nV:1.2.5-r0\nF:lib\nR:x\n\nC:Q2\nP:busybox\n" +
		"V:1.36.1-r29\n"); len(got) != 2 || got["musl"] != "1.2.5-r0" ||
		got["busybox"] != "1.36.1-r29" {
		t.Error(got)
	}
	if got := apkPolicy("busybox policy:\n  1.36.1-r30:\n    https://example.com/main\n" +
		"  1.36.1-r29:\n    lib/apk/db/installed\nmusl policy:\n  1.2.5-r0:\n" +
		"    lib/apk/db/installed\n"); got["busybox"] != "1.36.1-r30" || got["musl"] != "1.2.5-r0" {
		t.Error(got)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "etc/apk/world"), "alpine-base\nnginx=1.26\npython3>3.11\n")
	if got, err := (apk{}).chosen(nil, place{root: root}); err != nil ||
		!slices.Equal(got, []string{"alpine-base", "nginx", "python3"}) {
		t.Error(got, err)
	}
}

func TestTypeIsValid(t *testing.T) {
	t.Parallel()
	types, err := schema.NewRegistry(Package().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := types.Type("pkg::Package")
	for why, attrs := range map[string]map[string]any{
		"an option in place of a name": {"name": "--purge"},
		"a version in the name":        {"name": "a=1"},
		"a path for a name":            {"name": "/tmp/x.deb"}, "a pattern": {"name": "a*"},
		"a version that is a pattern":    {"name": "a", "version": "1.*"},
		"a relative source":              {"name": "a", "source": "x.deb"},
		"an option as a source":          {"name": "a", "source": "-o x"},
		"latest of a source":             {"name": "a", "source": "/x.deb", "version": "latest"},
		"a root with a slash at its end": {"name": "a", "root": "/x/"},
	} {
		if _, problems := typ.Check(attrs); len(problems) == 0 {
			t.Errorf("%s is accepted", why)
		}
	}
}

// TestOnlyByName: what is not named is never taken for a package of Python or Node.js.
func TestOnlyByName(t *testing.T) {
	t.Parallel()
	host := providertest.NewHost(nil)
	r := provider.Resource{Type: "pkg::Package",
		Attributes: map[string]any{"name": "no-such-package"}}
	if _, err := Package().Handler.Read(host.Context(t.Context(),
		provider.Options{ID: "pkg::Package[a,name=x]", Desired: r}),
		provider.ReadRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	if name, why := host.Chosen(); name != "apt" ||
		!strings.Contains(why, "not pip: it serves resources that name it") {
		t.Errorf("%s because %s", name, why)
	}
}
