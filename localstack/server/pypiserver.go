package server

import (
	"context"
	"path/filepath"
)

// pypiserver is an index of Python packages.
const pypiserver Kind = "pypiserver"

// InstallPypiserver installs an index of Python packages, unless it is installed. It returns the
// Python that has it as a library.
func InstallPypiserver(ctx context.Context) (string, error) {
	dir, err := install(ctx, pypiserver)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "venv", "bin", "python"), nil
}
