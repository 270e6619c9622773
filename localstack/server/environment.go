package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
)

// Environment returns a virtual environment with pip, as Python makes one, for tests to copy. It is
// made once, because that takes seconds: most of the time is spent on compiling pip, which copies
// avoid. The program is the Python that made it, which is one that modules of models can run with.
func Environment(ctx context.Context) (dir, program string, err error) {
	found, err := Python(ctx, "3.13+")
	if err != nil {
		return "", "", err
	}
	// The program may be a script that looks for a Python.
	out, err := exec.CommandContext(ctx, found, "-c",
		"import sys; print(sys.executable); print(sys.version)").Output()
	if err != nil {
		return "", "", err
	}
	program, _, _ = strings.Cut(string(out), "\n")
	sum := sha256.Sum256(out) // another Python gets another environment
	dir, err = cached(filepath.Join("servers", "environment-"+hex.EncodeToString(sum[:6])),
		func(dir string) error {
			return run(ctx, dir, program, "-m", "venv", filepath.Join(dir, "venv"))
		})
	return filepath.Join(dir, "venv"), program, err
}
