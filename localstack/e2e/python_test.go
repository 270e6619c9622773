//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// python deploys a project of unmodified modules and a module of its own with the Python function,
// and without a runner: create, again, drift, an exception, new code, purge.
func python(t *testing.T, w *world) {
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	uv, err := server.InstallUV(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u := w.user(t, "python")
	u.path = filepath.Dir(uv)
	const libs = "../../shared/cli/testdata/python/libs"
	if err := os.CopyFS(filepath.Join(u.dir, "libs"), os.DirFS(libs)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(env, filepath.Join(u.dir, ".env")); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	model := func(text string) {
		u.write(t, "main.cf", strings.ReplaceAll("import fs\nimport exec\nimport mitogen\nimport disk\n"+
			"host = std::Host(name=\"web1\", os=std::linux, via=mitogen::Local())\n"+text, "OUT", out))
	}
	want := func(name, text string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(out, name))
		if string(got) != text || err != nil && (text != "" || !os.IsNotExist(err)) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, text)
		}
	}
	u.write(t, "project.yml", "name: test\nmodulepath: [libs]\n")
	const usual = `f = fs::File(host=host, path="OUT/a", mode=644, content="hello\n")
exec::Run(host=host, command="touch OUT/done", creates="OUT/done", requires=f)
disk::Note(path="OUT/note", text="by a function\n")
`
	model(usual)
	if s := u.export(t); s.Counts["deployed"] != 3 {
		t.Fatalf("%+v", s)
	}
	want("a", "hello\n")
	want("done", "")
	want("note", "by a function\n")
	if s := u.export(t); s.Changed != 0 || s.Counts["deployed"] != 3 {
		t.Errorf("again: %+v", s)
	}
	if err := os.WriteFile(filepath.Join(out, "a"), []byte("drift\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.run(t, 0, "repair", "--json")
	want("a", "hello\n")

	model(usual + `disk::Note(path="OUT/thrown", text="x", how="throw")` + "\n")
	said := u.run(t, 3, "export", ".", "--wait", "--timeout", "8m")
	if !strings.Contains(string(said), "no room for") {
		t.Errorf("%s", said)
	}

	source := filepath.Join(u.dir, "libs", "disk", "plugins", "__init__.py")
	code, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(source, []byte(strings.ReplaceAll(string(code),
		"f.write(resource.text)", "f.write(resource.text.upper())")), 0o600); err != nil {
		t.Fatal(err)
	}
	model(strings.ReplaceAll(usual, "by a function", "by new code"))
	u.export(t)
	want("note", "BY NEW CODE\n")

	model(`fs::File(host=host, path="OUT/a", mode=644, content="hello\n", purged=true)
disk::Note(path="OUT/note", text="x", purged=true)
`)
	u.export(t)
	want("a", "")
	want("note", "")
}
