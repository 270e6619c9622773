package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/fault"
)

// environment makes a virtual environment of metadata files.
func environment(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "lib", "python3.13", "site-packages", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestInstalled pins which distributions of an environment a bundle has, and which are refused.
func TestInstalled(t *testing.T) {
	t.Parallel()
	const direct = "d-1.dist-info/direct_url.json"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string // requirements; or a part of the error
		kind  fault.Kind
	}{
		{"sorted, with normalized names", map[string]string{
			"Zope.Interface-8.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: Zope.Interface\nVersion: 8.0\n\nName: no\n",
			"a_b-1.0.dist-info/METADATA":            "Name: a_b\nVersion: 1.0\n"},
			"a-b==1.0\nzope-interface==8.0\n", ""},
		{"without modules in editable form, whose code travels with versions", map[string]string{
			"inmanta_module_fs-1.dist-info/METADATA":        "Name: inmanta-module-fs\nVersion: 1\n",
			"inmanta_module_my-1.dist-info/METADATA":        "Name: inmanta-module-my\nVersion: 1\n",
			"inmanta_module_my-1.dist-info/direct_url.json": `{"url": "file:///home/me/my"}`,
			"a-1.dist-info/METADATA":                        "Name: a\nVersion: 1\n"},
			"a==1\ninmanta-module-fs==1\n", ""},
		{"from a folder", map[string]string{"d-1.dist-info/METADATA": "Name: d\nVersion: 1\n",
			direct: `{"url": "file:///home/me/d", "dir_info": {"editable": true}}`},
			"package d 1: it was installed from file:///home/me/d", fault.Invalid},
		{"from a repository, without its password", map[string]string{
			"d-1.dist-info/METADATA": "Name: d\nVersion: 1\n",
			direct:                   `{"url": "https://me:secret@git.example/d"}`},
			"package d 1: it was installed from https://git.example/d", fault.Invalid},
		{"not a distribution", map[string]string{"d-1.dist-info/METADATA": "x"},
			"names no distribution", fault.Invalid},
		{"nothing", nil, "no package is installed there", fault.NotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pins, err := installed(environment(t, test.files))
			if test.kind != "" {
				if !fault.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) ||
					strings.Contains(err.Error(), "secret") {
					t.Errorf("%v, want %q", err, test.want)
				}
				return
			}
			if got := requirements(pins); err != nil || got != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}
