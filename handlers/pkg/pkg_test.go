package pkg

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
)

// TestAptConformance works with the real apt and dpkg in root directories of its own.
func TestAptConformance(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, "sb-a 1.0", "sb-a 1.1")
	prepared := repo.root(t, t.TempDir())
	ctx := providertest.NewHost(nil).Context(t.Context(), provider.Options{ID: "pkg::Package[a,name=x]"})
	if _, err := (apt{}).get(ctx, place{root: prepared}, "update"); err != nil {
		t.Fatal(err)
	}
	providertest.Run(t, providertest.Subject{Definition: Package(), New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
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
func run(t *testing.T, attrs map[string]any, purged bool) (plan.Change, *providertest.Host, error) {
	t.Helper()
	types, err := schema.NewRegistry(Package().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := types.Type("pkg::Package")
	full, problems := typ.Check(attrs)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	h, host := Package().Handler, providertest.NewHost(nil)
	r := provider.Resource{ID: "pkg::Package[a,name=x]", Type: "pkg::Package", Attributes: full, Purged: purged}
	ctx := host.Context(t.Context(), provider.Options{ID: r.ID, Desired: r})
	obs, err := h.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return "", host, err
	}
	change := plan.NoChange
	switch {
	case purged && obs.Exists:
		change = plan.Purged
	case purged:
	case !obs.Exists:
		change = plan.Created
	case full["version"] != nil && full["version"] != obs.Attributes["version"]:
		change = plan.Updated
	}
	_, err = provider.Apply(h, provider.BatchChange{Context: ctx, Change: change, Resource: r, Observed: obs})
	return change, host, err
}

// goes runs twice: the first does what is wanted, the second has nothing to do.
func goes(t *testing.T, what string, want plan.Change, attrs map[string]any, purged bool) {
	t.Helper()
	for _, expected := range []plan.Change{want, plan.NoChange} {
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
		out[more[i].(string)] = more[i+1] //nolint:forcetypeassert // of this test
	}
	return out
}

// TestApt goes through the life of packages: dependencies, lists that are old, another version, drift, sources, what is not to be had.
func TestApt(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, "sb-lib 1:1.0-2~a", "sb-app 1.0 sb-lib")
	root := repo.root(t, t.TempDir())
	app := map[string]any{"name": "sb-app", "root": root, "provider": "apt"}
	goes(t, "lists that were never fetched are fetched", plan.Created, app, false)
	lib := with(app, "name", "sb-lib")
	goes(t, "what it needs is there", plan.NoChange, with(lib, "version", "1:1.0-2~a"), false)
	repo.add(t, "sb-app 1.1 sb-lib")
	goes(t, "the newest that is known", plan.NoChange, with(app, "version", "latest"), false)
	goes(t, "a version that came since", plan.Updated, with(app, "version", "1.1"), false)
	goes(t, "the newest", plan.NoChange, with(app, "version", "latest"), false)
	goes(t, "a lower version", plan.Updated, with(app, "version", "1.0"), false)
	goes(t, "the newest again", plan.Updated, with(app, "version", "latest"), false)
	command(t, "/", "dpkg", "--root="+root, "--force-unsafe-io", "--remove", "sb-app")
	goes(t, "what was removed behind our back", plan.Created, app, false)
	goes(t, "under another name", plan.NoChange, with(app, "name", "app", "package", "sb-app"), false)
	goes(t, "with its architecture", plan.NoChange, with(app, "name", "sb-app:all"), false)
	goes(t, "purged", plan.Purged, with(app, "configuration", true), true)
	goes(t, "what it needed stays", plan.NoChange, lib, false)
	goes(t, "from a file", plan.Created, with(app, "source", repo.deb("sb-app", "1.0")), false)
	goes(t, "and that is its version", plan.NoChange, with(app, "version", "1.0"), false)
	if _, _, err := run(t, with(app, "name", "sb-none"), false); provider.ClassOf(err) != provider.Retryable || !strings.Contains(fmt.Sprint(err), "nable to locate package sb-none") {
		t.Error(err)
	}
	if _, _, err := run(t, with(app, "version", "9"), false); !strings.Contains(fmt.Sprint(err), "Version '9' for 'sb-app' was not found") {
		t.Error(err)
	}
	for _, name := range []string{"sb-app-", "sb.app", "sb-app+"} {
		if _, _, err := run(t, with(app, "name", "x", "package", name), false); err == nil {
			t.Errorf("%s is taken for something", name)
		}
		goes(t, "what is there stays, whatever "+name+" could mean", plan.NoChange, with(app, "version", "1.0"), false)
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
		r := provider.Resource{ID: "pkg::Package[a,name=x]", Type: "pkg::Package", Attributes: map[string]any{"name": name, "root": root, "provider": "apt"}}
		items = append(items, provider.BatchChange{Context: host.Context(t.Context(), provider.Options{ID: r.ID, Desired: r}), Change: plan.Created, Resource: r})
	}
	got := b.ApplyBatch(t.Context(), items)
	if got[0].Err != nil || got[1].Err == nil || got[2].Err != nil {
		t.Errorf("%v: one that cannot be had keeps no other back", got)
	}
}

// TestPip works with a real virtual environment and wheels in a directory.
func TestPip(t *testing.T) {
	t.Parallel()
	wheels, venv := t.TempDir(), filepath.Join(t.TempDir(), "venv")
	wheel(t, wheels, "sb_demo", "1.0")
	wheel(t, wheels, "sb_demo", "1.1")
	environment(t, venv)
	demo := map[string]any{"name": "SB.demo", "root": venv, "provider": "pip", "options": []any{"--no-index", "--find-links", wheels}}
	goes(t, "a version", plan.Created, with(demo, "version", "1.0"), false)
	goes(t, "any version", plan.NoChange, demo, false)
	goes(t, "the newest", plan.Updated, with(demo, "version", "latest"), false)
	if err := os.RemoveAll(glob(t, filepath.Join(venv, "lib", "python3*", "site-packages", "sb_demo-1.1.dist-info"))); err != nil {
		t.Fatal(err)
	}
	goes(t, "what was removed behind our back", plan.Created, with(demo, "source", filepath.Join(wheels, "sb_demo-1.0-py3-none-any.whl")), false)
	goes(t, "purged", plan.Purged, demo, true)
	if _, _, err := run(t, with(demo, "name", "sb-none"), false); !strings.Contains(fmt.Sprint(err), "No matching distribution found for sb-none") {
		t.Error(err)
	}
}

// environment makes a virtual environment. It uses the pip that is there, and gets its own, which takes long, where there is none.
func environment(t *testing.T, dir string) {
	t.Helper()
	command(t, "/", "python3", "-m", "venv", "--without-pip", "--system-site-packages", dir)
	if exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "python"), "-m", "pip", "--version").Run() != nil { //nolint:gosec // of this test
		command(t, "/", "python3", "-m", "venv", "--clear", dir)
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
	work := t.TempDir()
	info := name + "-" + version + ".dist-info/"
	write(t, filepath.Join(work, name+".py"), "version = '"+version+"'\n")
	write(t, filepath.Join(work, info, "METADATA"), "Metadata-Version: 2.1\nName: "+name+"\nVersion: "+version+"\n")
	write(t, filepath.Join(work, info, "WHEEL"), "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
	write(t, filepath.Join(work, info, "RECORD"), name+".py,,\n"+info+"METADATA,,\n"+info+"WHEEL,,\n"+info+"RECORD,,\n")
	command(t, work, "python3", "-m", "zipfile", "-c", filepath.Join(dir, name+"-"+version+"-py3-none-any.whl"), name+".py", info)
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
	demo := map[string]any{"name": "@sb/demo", "root": prefix, "provider": "npm", "options": []any{"--offline", "--cache", filepath.Join(work, "cache")}}
	goes(t, "from a file", plan.Created, with(demo, "source", archive("@sb/demo", "1.0.0")), false)
	goes(t, "another version", plan.Updated, with(demo, "source", archive("@sb/demo", "1.1.0"), "version", "1.1.0"), false)
	goes(t, "purged", plan.Purged, demo, true)
}

// TestOthers reads what package managers that are not on this machine print.
func TestOthers(t *testing.T) {
	t.Parallel()
	if got := tabbed("bash\t5.2.26-3.fc40\nvim\t2:9.1-1\nzlib\t0:1.3-1\n"); got["bash"] != "5.2.26-3.fc40" || got["vim"] != "2:9.1-1" || got["zlib"] != "1.3-1" {
		t.Error(got)
	}
	if got := apkDatabase("C:Q1\nP:musl\nV:1.2.5-r0\nF:lib\nR:x\n\nC:Q2\nP:busybox\nV:1.36.1-r29\n"); len(got) != 2 || got["musl"] != "1.2.5-r0" || got["busybox"] != "1.36.1-r29" {
		t.Error(got)
	}
	if got := apkPolicy("busybox policy:\n  1.36.1-r30:\n    https://example.com/main\n  1.36.1-r29:\n    lib/apk/db/installed\nmusl policy:\n  1.2.5-r0:\n    lib/apk/db/installed\n"); got["busybox"] != "1.36.1-r30" || got["musl"] != "1.2.5-r0" {
		t.Error(got)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "etc/apk/world"), "alpine-base\nnginx=1.26\npython3>3.11\n")
	if got, err := (apk{}).chosen(nil, place{root: root}); err != nil || !slices.Equal(got, []string{"alpine-base", "nginx", "python3"}) {
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
		"an option in place of a name": {"name": "--purge"}, "a version in the name": {"name": "a=1"}, "a path for a name": {"name": "/tmp/x.deb"}, "a pattern": {"name": "a*"}, "a version that is a pattern": {"name": "a", "version": "1.*"},
		"a relative source": {"name": "a", "source": "x.deb"}, "an option as a source": {"name": "a", "source": "-o x"}, "latest of a source": {"name": "a", "source": "/x.deb", "version": "latest"},
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
	r := provider.Resource{Type: "pkg::Package", Attributes: map[string]any{"name": "no-such-package"}}
	if _, err := Package().Handler.Read(host.Context(t.Context(), provider.Options{ID: "pkg::Package[a,name=x]", Desired: r}), provider.ReadRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	if name, why := host.Chosen(); name != "apt" || !strings.Contains(why, "not pip: it serves resources that name it") {
		t.Errorf("%s because %s", name, why)
	}
}
