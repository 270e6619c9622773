package server

import (
	"context"
	"fmt"
	"path/filepath"
)

// ciSchemas is a package with the JSON Schemas of configuration files of GitHub and GitLab. Its
// code is not run.
const ciSchemas Kind = "schemas"

// InstallSchemas installs the JSON Schemas, unless they are installed. It returns their folder,
// which contains github-actions.json, github-workflows.json and gitlab-ci.json.
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
