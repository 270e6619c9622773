//go:build servers

package infra

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// templateFiles returns the paths of the templates, from the folder of the repository.
func templateFiles(t *testing.T) []string {
	t.Helper()
	nested, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"template.yaml"}
	for _, name := range nested {
		files = append(files, filepath.Join("infra", name))
	}
	return files
}

// TestLint pins that the linter of CloudFormation, which first translates what is SAM's, finds
// nothing, and that nothing tells it to look away. It is all that `sam validate --lint` runs.
func TestLint(t *testing.T) {
	t.Parallel()
	tools, err := server.InstallTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := templateFiles(t)
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

// TestCheckov pins that checkov finds nothing in the templates. A resource may skip a check in its
// metadata, with the reason; a list here counts them, so that no skip is added unseen.
func TestCheckov(t *testing.T) {
	t.Parallel()
	program, err := server.InstallCheckov(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--framework", "cloudformation", "--skip-download", "--output", "json"}
	for _, file := range templateFiles(t) {
		args = append(args, "--file", file)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "BC_SKIP_MAPPING=TRUE", "LOG_LEVEL=ERROR")
	out, err := cmd.Output()
	type finding struct {
		ID       string `json:"check_id"`
		Resource string `json:"resource"`
		Result   struct {
			Comment string `json:"suppress_comment"`
		} `json:"check_result"`
	}
	var report struct {
		Results struct {
			Passed  []finding `json:"passed_checks"`
			Failed  []finding `json:"failed_checks"`
			Skipped []finding `json:"skipped_checks"`
		} `json:"results"`
	}
	if e := json.Unmarshal(out, &report); e != nil {
		t.Fatalf("%v, %v:\n%s", err, e, out)
	}
	if n := len(report.Results.Passed); n < 100 {
		t.Errorf("only %d checks passed: not all templates were read", n)
	}
	for _, f := range report.Results.Failed {
		t.Errorf("%s of %s: mend it, or skip it in the metadata of the resource, with the reason",
			f.ID, f.Resource)
	}
	skipped := map[string]int{}
	for _, f := range report.Results.Skipped {
		skipped[f.ID]++
		if len(strings.Fields(f.Result.Comment)) < 5 {
			t.Errorf("%s of %s is skipped without a reason", f.ID, f.Resource)
		}
	}
	if want := map[string]int{"CKV_AWS_116": 7, "CKV_AWS_119": 1}; !maps.Equal(skipped, want) {
		t.Errorf("skipped are %v, expected %v", skipped, want)
	}
	for _, name := range []string{"../.checkov.yaml", "../.checkov.yml", "../.checkov.baseline"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s may skip checks for all resources", name)
		}
	}
}
