package server

import (
	"context"
	"os"
	"path/filepath"
)

// The settings of LocalStack for the places of its files.
const (
	onHost         = "OVERRIDE_IN_DOCKER=0"
	filesystemRoot = "FILESYSTEM_ROOT="
)

// static is the folder below the root in which LocalStack looks for static files.
const static = "usr/lib/localstack"

// linkCatalog links the catalog of all AWS services into the working folder of a LocalStack. The
// catalog is made once for an installation. Without it, each start reads the descriptions of all
// services, which takes a third of the start.
func linkCatalog(ctx context.Context, dir, work string) error {
	made, err := cached(filepath.Join("servers", filepath.Base(dir)+"-catalog"),
		func(into string) error {
			if err := os.MkdirAll(filepath.Join(into, static), 0o755); err != nil {
				return err
			}
			return run(ctx, into, "env", keepsCompiled, onHost, filesystemRoot+into,
				filepath.Join(dir, "venv", "bin", "python"), "-m", "localstack.aws.spec")
		})
	if err != nil {
		return err
	}
	at := filepath.Join(work, "root", static)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(made, static), at)
}
