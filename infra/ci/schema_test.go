//go:build servers

package ci

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"southbound/localstack/server"
)

// TestSchemas holds the recipes against the schemas that editors use for what GitHub and GitLab
// read.
func TestSchemas(t *testing.T) {
	t.Parallel()
	dir, err := server.InstallSchemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range map[string]string{"github-workflow.yml": "github-workflows.json",
		"action.yml": "github-actions.json", "gitlab.yml": "gitlab-ci.json"} {
		text, err := os.ReadFile(filepath.Join(dir, schema))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(schema, parsed); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile(schema)
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(readYAML(t, name))
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// actionlint is a program of its own, since it is not made for the YAML library that this module
// uses.
const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

// TestWorkflowLint holds the workflow, and what it tells the action, against actionlint, in a
// repository that is laid out as the workflow lays it out.
func TestWorkflowLint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for from, to := range map[string]string{
		"github-workflow.yml": ".github/workflows/southbound.yml",
		"action.yml":          ".tools/southbound/infra/ci/action.yml"} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to = filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-trimpath", actionlint, "-no-color",
		"-shellcheck=", "-pyflakes=")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
