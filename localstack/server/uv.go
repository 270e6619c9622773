package server

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// uv installs packages of Python in a tenth of the time that pip takes, which the tests of an empty
// machine would otherwise spend most of their wait on.
const uv Kind = "uv"

// keepsCompiled is a variable for programs in Python that are installed here. They keep what they
// compile of themselves beside their sources, whatever this process is told: compiling it is most
// of what it takes to start one.
const keepsCompiled = "PYTHONDONTWRITEBYTECODE="

// uvInto makes a virtual environment in dir and installs exactly what the lock lists, by hash. The
// environment has no pip.
func uvInto(ctx context.Context, version, dir string, lock []byte) error {
	interpreter, err := Python(ctx, version)
	if err != nil {
		return err
	}
	tool, err := install(ctx, uv)
	if err != nil {
		return err
	}
	file, venv := filepath.Join(dir, "lock.txt"), filepath.Join(dir, "venv")
	if err := os.WriteFile(file, lock, 0o644); err != nil {
		return err
	}
	cache := filepath.Join(dir, "cache") // in the same file system, so that files are linked
	defer os.RemoveAll(cache)
	program := filepath.Join(tool, "venv", "bin", "uv")
	common := []string{"--quiet", "--no-config", "--cache-dir", cache}
	if err := run(ctx, dir, program,
		append(common, "venv", "--python", interpreter, venv)...); err != nil {
		return err
	}
	args := []string{"pip", "install", "--python", filepath.Join(venv, "bin", "python"),
		"--system-certs", "--no-deps", "--require-hashes", "-r", file}
	if index := indexOfPip(ctx, tool); index != "" {
		args = append(args, "--default-index", index)
	}
	return run(ctx, dir, program, append(common, args...)...)
}

// indexOfPip returns the index that pip is told to use on this machine, of which uv does not know;
// "": the usual one.
func indexOfPip(ctx context.Context, tool string) string {
	if index := os.Getenv("PIP_INDEX_URL"); index != "" {
		return index
	}
	out, err := exec.CommandContext(ctx, filepath.Join(tool, "venv", "bin", "python"),
		"-m", "pip", "config", "get", "global.index-url").Output()
	if err != nil { // it is told nothing
		return ""
	}
	return strings.TrimSpace(string(out))
}

// pipInto makes a virtual environment in dir and has pip install exactly what the lock lists, by
// hash: uv itself.
func pipInto(ctx context.Context, dir string, lock []byte) error {
	interpreter, err := Python(ctx, "3.9+")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "lock.txt")
	if err := os.WriteFile(file, lock, 0o644); err != nil {
		return err
	}
	if err := run(ctx, dir, interpreter, "-m", "venv", filepath.Join(dir, "venv")); err != nil {
		return err
	}
	return run(ctx, dir, filepath.Join(dir, "venv", "bin", "python"), "-m", "pip", "install",
		"--quiet", "--disable-pip-version-check",
		"--no-deps", "--require-hashes", "-r", file)
}
