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
// made once, which takes Python seconds: most of that is compiling pip, which copies need not do
// again. The program is the Python that it was made of: one that modules of models run with.
func Environment(ctx context.Context) (dir, program string, err error) {
	found, err := Python(ctx, "3.13+")
	if err != nil {
		return "", "", err
	}
	// what is found may be a script that looks for a Python
	out, err := exec.CommandContext(ctx, found, "-c",
		"import sys; print(sys.executable); print(sys.version)").Output()
	if err != nil {
		return "", "", err
	}
	program, _, _ = strings.Cut(string(out), "\n")
	sum := sha256.Sum256(out) // another Python makes another one
	dir, err = cached(filepath.Join("servers", "environment-"+hex.EncodeToString(sum[:6])),
		func(dir string) error {
			return run(ctx, dir, program, "-m", "venv", filepath.Join(dir, "venv"))
		})
	return filepath.Join(dir, "venv"), program, err
}
