//go:build servers

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/lang/module"
)

// suiteRow matches a row of the table of published modules in docs/language/testing.md.
var suiteRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\S+) \\| .* \\| (\\d+) \\| (\\S+) \\| (\\d+) \\|$")

// patient replaces os.getlogin, which fails on a machine without a terminal, and the time limit of
// connections of mitogen, which a loaded machine exceeds.
const patient = `import os
os.getlogin = lambda: "root"
try:
    import mitogen.parent
    mitogen.parent.Options.connect_timeout = 3600.0
except ImportError:
    pass
`

// TestPublishedSuites runs the test suites of published modules, and compares the number of passed
// tests with the table in docs/language/testing.md.
func TestPublishedSuites(t *testing.T) {
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/language/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := suiteRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 5 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("sitecustomize.py", []byte(patient), 0o600); err != nil {
		t.Fatal(err)
	}
	login, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", login)
	t.Setenv("VIRTUAL_ENV", env)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "")
	t.Setenv("TMPDIR", t.TempDir())
	for _, row := range rows {
		name, version, total, passed := row[1], row[2], row[3], row[5]
		t.Run(name, func(t *testing.T) {
			publishedSuite(t, env, name, version)
			var files []string
			if name == "apt" { // its other tests need a container
				files = append(files, "apt/tests/test_model.py")
			}
			if got, out := passedTests(t, name, files...); got != passed {
				t.Errorf("%s of %s tests passed; the table has %s\n%s", got, total, passed, out)
			}
		})
	}
	t.Run("plugins of the program", func(t *testing.T) {
		for path, text := range map[string]string{
			"other/module.yml": "name: other\nversion: 1.0.0\nlicense: none\n", "other/model/_init.cf": "",
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750),
				os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.CopyFS("other/tests", os.DirFS("std/tests")); err != nil {
			t.Fatal(err)
		}
		const want = "120" // the page names the others
		if got, out := passedTests(t, "other"); got != want {
			t.Errorf("%s tests of std passed, want %s\n%s", got, want, out)
		}
	})
}

// passedTests runs the tests of a module. It returns the number of passed tests, and the output.
func passedTests(t *testing.T, name string, files ...string) (passed, output string) {
	t.Helper()
	args := append([]string{"module", "test", "--module", name, "--json"}, files...)
	var out bytes.Buffer
	Main(handlers.All(), args, strings.NewReader(""), &out, &out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last struct {
		Summary struct{ Passed, Failed, Skipped json.Number }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return last.Summary.Passed.String(), out.String()
}

// publishedSuite downloads a module with its tests, in the version that env has.
func publishedSuite(t *testing.T, env, name, version string) {
	t.Helper()
	sites, err := module.SitePackages(env)
	if err != nil {
		t.Fatal(err)
	}
	info := "inmanta_module_" + name + "-" + version + ".dist-info"
	if _, err := os.Stat(filepath.Join(sites[0], info)); err != nil {
		t.Fatalf("the environment of the tests has another version of %s: %v", name, err)
	}
	var out bytes.Buffer
	args := []string{"module", "download", name + " ==" + version, "-d", "."}
	if code := Main(handlers.All(), args, strings.NewReader(""), &out, &out); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
}
