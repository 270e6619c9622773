package server

import (
	"context"
	"path/filepath"
)

// schemathesis is a program that tests an HTTP API against its OpenAPI description.
const schemathesis Kind = "schemathesis"

// InstallSchemathesis installs Schemathesis, unless it is installed. It returns the path of its
// program.
func InstallSchemathesis(ctx context.Context) (string, error) {
	dir, err := install(ctx, schemathesis)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "venv", "bin", "st"), nil
}
