package server

import (
	"context"
	"path/filepath"
)

// checkov is a program that checks templates against security policies. It has an environment of
// its own, because it pins other versions of packages than the SAM CLI.
const checkov Kind = "checkov"

// InstallCheckov installs checkov, unless it is installed. It returns the path of its program.
func InstallCheckov(ctx context.Context) (string, error) {
	dir, err := install(ctx, checkov)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "venv", "bin", "checkov"), nil
}
