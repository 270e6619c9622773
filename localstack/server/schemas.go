package server

import (
	"context"
	"fmt"
	"path/filepath"
)

// ciSchemas is a package that brings the JSON Schemas of what GitHub and GitLab read. Nothing of it
// is run.
const ciSchemas Kind = "schemas"

// InstallSchemas installs the JSON Schemas when that was not done yet, and returns the folder in
// which they are: github-actions.json, github-workflows.json, gitlab-ci.json.
func InstallSchemas(ctx context.Context) (string, error) {
	dir, err := install(ctx, ciSchemas)
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "venv", "lib", "python*", "site-packages",
		"check_jsonschema", "builtin_schemas", "vendor"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("no schemas in %s: %w", dir, err)
	}
	return found[0], nil
}
