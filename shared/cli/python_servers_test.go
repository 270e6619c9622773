//go:build servers

package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"southbound/localstack/server"
)

// TestPythonScripts runs scripts with projects whose modules have handlers in Python, with the
// library as it is published.
func TestPythonScripts(t *testing.T) {
	t.Parallel()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := params("embedded")
	p.Dir = filepath.Join("testdata", "python")
	p.Setup = func(e *testscript.Env) error {
		return errors.Join(embedded(e), os.Symlink(env, filepath.Join(e.WorkDir, ".env")),
			os.CopyFS(filepath.Join(e.WorkDir, "libs"), os.DirFS(filepath.Join(p.Dir, "libs"))))
	}
	testscript.Run(t, p)
}
