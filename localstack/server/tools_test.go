//go:build servers

package server_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// TestTools pins that the SAM CLI and cfn-lint are installed in the versions that are locked, and
// run.
func TestTools(t *testing.T) {
	t.Parallel()
	tools, err := server.InstallTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{tools.SAM: "1.170.0", tools.Lint: "1.58.0"} {
		cmd := exec.CommandContext(t.Context(), path, "--version")
		cmd.Env = tools.Environment()
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s --version: %v, %s; want %s", path, err, out, want)
		}
	}
}

// TestToolsCollectSeldom pins that the tools look for garbage seldom, in any Python that they run.
func TestToolsCollectSeldom(t *testing.T) {
	t.Parallel()
	tools, err := server.InstallTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(tools.SAM), "python"), "-c",
		"import gc; print(gc.get_threshold()[0])")
	cmd.Env = tools.Environment()
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "50000" {
		t.Errorf("%v: it looks for garbage after %s objects", err, out)
	}
}
