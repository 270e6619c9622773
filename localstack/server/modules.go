package server

import (
	"context"
	"path/filepath"
)

// modelModules are published modules of models, with the library that their Python code needs.
const modelModules Kind = "modules"

// InstallModules installs published modules of models (std, net, ip, fs, exec, apt, mitogen,
// files), unless they are installed. It returns the folder of their virtual environment.
func InstallModules(ctx context.Context) (string, error) {
	dir, err := install(ctx, modelModules)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "venv"), nil
}
