package server

import (
	"context"
	"os"
	"path/filepath"
)

// samTools is AWS's SAM CLI and cfn-lint, in one virtual environment.
const samTools Kind = "sam"

// Tools are the programs that build, check and deploy the stack.
type Tools struct {
	// SAM and Lint are the paths of the SAM CLI and of cfn-lint.
	SAM, Lint string
}

// InstallTools installs the tools, unless they are installed.
func InstallTools(ctx context.Context) (Tools, error) {
	dir, err := install(ctx, samTools)
	if err != nil {
		return Tools{}, err
	}
	bin := filepath.Join(dir, "venv", "bin")
	return Tools{SAM: filepath.Join(bin, "sam"), Lint: filepath.Join(bin, "cfn-lint")}, nil
}

// Environment returns the environment of the tools: that of this process, without telemetry and
// without network calls that check for newer versions.
func (t Tools) Environment() []string {
	return append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_PAGER=", keepsCompiled,
		"PYTHONWARNINGS=ignore")
}
