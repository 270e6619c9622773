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
	var out bytes.Buffer
	args := []string{"module", "test", "--module", "shelf"}
	if code := Main(handlers.All(), args, strings.NewReader(""), &out, &out); code != 0 ||
		!strings.Contains(out.String(), "2 tests: 2 passed") {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
}
