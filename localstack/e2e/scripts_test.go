//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// scripts runs the command line's own scripts against the stack. Their agents are on this machine,
// and served from here.
func scripts(t *testing.T, w *world) {
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-vet=off", "-count=1",
		"-timeout=40m", "-parallel=6", "-run=^TestScriptsOverAPI$", "./shared/cli")
	cmd.Dir = w.stack.Root
	cmd.Env = append(os.Environ(), w.stack.Variables(w.out)...)
	cmd.Env = append(cmd.Env, "SOUTHBOUND_TEST_API="+w.out["ApiUrl"], "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("the scripts took %v", time.Since(began).Round(time.Second))
}
