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

// TestLint pins that the linters of SAM and of CloudFormation find nothing, and that nothing tells
// them to look away.
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
	for _, command := range [][]string{{tools.SAM, "validate", "--lint", "--region", "us-east-1"},
		append([]string{tools.Lint}, files...)} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = "..", tools.Environment()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "ignore_checks") ||
			strings.Contains(string(text), "cfn-lint:") {
			t.Errorf("%s tells a linter to look away", file)
		}
	}
	if hidden, _ := filepath.Glob("../.cfnlint*"); len(hidden) > 0 {
		t.Errorf("%v may tell a linter to look away", hidden)
	}
}
