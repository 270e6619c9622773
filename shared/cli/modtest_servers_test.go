//go:build servers

package cli

import (
	"bytes"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/localstack/server"
)

// TestPytestPage runs the tests in Python of the module that docs/language/testing.md shows.
func TestPytestPage(t *testing.T) {
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pageModule(t, "testing.md")
	t.Setenv("VIRTUAL_ENV", env)
	// Otherwise each run may compile the library and pytest again, which is most of what it takes.
	t.Setenv("PYTHONDONTWRITEBYTECODE", "")
	t.Setenv("TMPDIR", t.TempDir()) // in which pytest keeps what the last runs had
	var out bytes.Buffer
	args := []string{"module", "test", "--module", "shelf"}
	if code := Main(handlers.All(), args, strings.NewReader(""), &out, &out); code != 0 ||
		!strings.Contains(out.String(), "2 tests: 2 passed") {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
	for run, want := range map[string]struct {
		code int
		says string
	}{
		"label":               {0, "1 test: 1 passed"},
		"test_shelf.py":       {0, "2 tests: 2 passed"},
		"tests/test_shelf":    {0, "2 tests: 2 passed"},
		"tests/.*::test_wide": {2, "no test has a name"},
	} {
		out.Reset()
		code := Main(handlers.All(), append(args, "--run", run), strings.NewReader(""), &out, &out)
		if code != want.code || !strings.Contains(out.String(), want.says) {
			t.Errorf("%s: exit code %d\n%s", run, code, out.String())
		}
	}
}
