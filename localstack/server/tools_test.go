//go:build servers

package server_test

import (
	"os/exec"
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
