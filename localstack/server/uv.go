package server

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// uv installs Python packages in a tenth of the time of pip. With pip, tests on a new machine would
// spend most of their time on installation.
const uv Kind = "uv"

// keepsCompiled is an environment variable for the Python programs that are installed here. It
// makes them store compiled code next to their sources, even if this process's environment disables
// that. Compiling takes most of their start.
const keepsCompiled = "PYTHONDONTWRITEBYTECODE="

// uvInto makes a virtual environment in dir, and installs exactly the packages of the lock file, by
// hash. The environment has no pip.
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
	cache := filepath.Join(dir, "cache") // in the same file system, so that uv can link files
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

// indexOfPip returns the package index that pip is configured to use on this machine, because uv
// does not read that setting. For the default index it returns "".
func indexOfPip(ctx context.Context, tool string) string {
	if index := os.Getenv("PIP_INDEX_URL"); index != "" {
		return index
	}
	out, err := exec.CommandContext(ctx, filepath.Join(tool, "venv", "bin", "python"),
		"-m", "pip", "config", "get", "global.index-url").Output()
	if err != nil { // not configured
		return ""
	}
	return strings.TrimSpace(string(out))
}

// pipInto makes a virtual environment in dir, in which pip installs exactly the packages of the
// lock file, by hash. It installs uv itself.
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

// InstallUV installs uv, unless it is installed, and returns the path of its program.
func InstallUV(ctx context.Context) (string, error) {
	tool, err := install(ctx, uv)
	return filepath.Join(tool, "venv", "bin", "uv"), err
}

// UVEnvironment returns the environment of this process, with the package index that pip is
// configured to use on this machine.
func UVEnvironment(ctx context.Context) []string {
	tool, err := install(ctx, uv)
	if err != nil {
		return os.Environ()
	}
	if index := indexOfPip(ctx, tool); index != "" {
		return append(os.Environ(), "UV_DEFAULT_INDEX="+index)
	}
	return os.Environ()
}
