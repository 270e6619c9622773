package server

import (
	"context"
	"path/filepath"
)

// schemathesis tests an HTTP API by its OpenAPI description.
const schemathesis Kind = "schemathesis"

// InstallSchemathesis installs Schemathesis when that was not done yet, and returns the path of its
// program.
func InstallSchemathesis(ctx context.Context) (string, error) {
	dir, err := install(ctx, schemathesis)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "venv", "bin", "st"), nil
}
