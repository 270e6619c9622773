//go:build servers

package cli_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"southbound/shared/tf/packages"
	"southbound/shared/tf/tftest"
)

// TestProviderScripts runs scripts with the provider "fw" of protocol 6, whose objects are in the
// store at $STORE. $WORK/mirror has it as example.com/a/fw.
func TestProviderScripts(t *testing.T) {
	t.Parallel()
	program := tftest.Framework(t)
	p := params("embedded")
	p.Dir = filepath.Join("testdata", "provider")
	p.Setup = func(e *testscript.Env) error {
		store := httptest.NewServer(&tftest.Store{})
		e.Defer(store.Close)
		e.Setenv("STORE", store.URL)
		e.Setenv("SOUTHBOUND_PROVIDERS", filepath.Join(e.WorkDir, "providers"))
		to := filepath.Join(e.WorkDir, "mirror", "example.com", "a", "fw", "1.0.0", packages.Platform())
		b, err := os.ReadFile(program)
		return errors.Join(err, embedded(e), os.MkdirAll(to, 0o700),
			os.WriteFile(filepath.Join(to, "terraform-provider-fw"), b, 0o600))
	}
	testscript.Run(t, p)
}
