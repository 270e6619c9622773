package handler

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"southbound/shared/aws/home"
	"southbound/shared/fault"
	"southbound/shared/lang/python"
	"southbound/shared/lang/python/packages"
	"southbound/shared/resource"
)

// The environment variables that name the interpreter: envProgram is set by the script that Lambda
// starts, and envPython by people on emulators that run functions as processes.
const (
	envProgram = "SOUTHBOUND_PYTHON_PROGRAM"
	envPython  = "SOUTHBOUND_PYTHON"
)

// goMemory is the part of the function's memory that Go may use; Python gets the rest.
const goMemory = 160 << 20

// newPack returns the pack of the Python function. Its processes see no credentials of the function
// and no names of the stack, and end with each invocation.
func newPack(c *home.PythonConfig, getenv func(string) string) *python.Pack {
	// an emulator that runs functions as processes has one /tmp for several environments, and each
	// has a log stream of its own
	store := &packages.Store{Dir: filepath.Join(os.TempDir(), "southbound", "packages",
		filepath.Base("/"+getenv("AWS_LAMBDA_LOG_STREAM_NAME"))), Room: c.Room()}
	limit := int64(0) // the default of the pack
	if mb, err := strconv.ParseInt(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), 10, 64); err == nil &&
		mb<<20 > 2*goMemory {
		limit = mb<<20 - goMemory
		debug.SetMemoryLimit(goMemory)
	}
	return python.NewPack(python.PackOptions{
		Find: func() (string, string, error) {
			path, err := interpreter(c.Runtime, getenv)
			return path, os.TempDir(), err
		},
		Packages: func(ctx context.Context, f resource.File,
			open func(context.Context) (io.ReadCloser, error)) (string, error) {
			return store.Open(ctx, f.Hash, open)
		},
		Environment: environment(getenv), Confined: true, Call: c.Call(), Memory: limit,
		Processes: 1,
	})
}

// interpreter returns the Python of the function's runtime.
func interpreter(runtime string, getenv func(string) string) (string, error) {
	for _, said := range []string{getenv(envProgram), getenv(envPython)} {
		if said == "" {
			continue
		}
		if info, err := os.Stat(said); err == nil && !info.IsDir() {
			return said, nil
		}
		if path, wrong := python.Find(said); wrong == "" {
			return path, nil
		}
	}
	path, err := exec.LookPath(runtime)
	if err != nil {
		return "", fault.New(fault.NotFound, "run Python", "the function finds no %s", runtime).
			WithHint("on an emulator without Lambda's images, install it, or name it in %s",
				envPython)
	}
	return path, nil
}

// environment returns the environment of Python: without credentials and without the names of the
// stack's parts.
func environment(getenv func(string) string) []string {
	out := []string{"HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir(), "PYTHONDONTWRITEBYTECODE=1"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "AWS_REGION",
		"AWS_DEFAULT_REGION", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
		"no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value := getenv(name); value != "" {
			out = append(out, name+"="+value)
		}
	}
	return out
}
