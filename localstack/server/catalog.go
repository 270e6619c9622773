package server

import (
	"context"
	"os"
	"path/filepath"
)

// What LocalStack is told of where its files are.
const (
	onHost         = "OVERRIDE_IN_DOCKER=0"
	filesystemRoot = "FILESYSTEM_ROOT="
)

// static is the folder below its root in which LocalStack looks for what does not change.
const static = "usr/lib/localstack"

// linkCatalog gives a LocalStack that is to work in a folder the catalog of all services of AWS.
// It is made once for an installation: without it, each start reads the descriptions of all of
// them, which is a third of what a start takes.
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
