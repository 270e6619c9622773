//go:build servers

package infra

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// TestLint pins that the linter of CloudFormation, which first translates what is SAM's, finds
// nothing, and that nothing tells it to look away. It is all that `sam validate --lint` runs.
func TestLint(t *testing.T) {
	t.Parallel()
	tools, err := server.InstallTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nested, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"template.yaml"}
	for _, name := range nested {
		files = append(files, filepath.Join("infra", name))
	}
	cmd := exec.CommandContext(t.Context(), tools.Lint, files...)
	cmd.Dir, cmd.Env = "..", tools.Environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "ignore_checks") ||
			strings.Contains(string(text), "cfn-lint:") {
			t.Errorf("%s tells the linter to look away", file)
		}
	}
	if hidden, _ := filepath.Glob("../.cfnlint*"); len(hidden) > 0 {
		t.Errorf("%v may tell the linter to look away", hidden)
	}
}
