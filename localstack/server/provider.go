package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// The modules of real Terraform providers.
const (
	timeProvider      = "github.com/hashicorp/terraform-provider-time@v0.14.2"
	openStackProvider = "github.com/terraform-provider-openstack/terraform-provider-openstack/v3@v3.4.0"
)

// InstallTimeProvider installs the Terraform provider "time", unless it is installed, and returns
// the path of its program. The checksum database of Go modules verifies its sources.
func InstallTimeProvider(ctx context.Context) (string, error) {
	return installProvider(ctx, "terraform-provider-time", timeProvider)
}

// InstallOpenStackProvider is InstallTimeProvider for the provider "openstack".
func InstallOpenStackProvider(ctx context.Context) (string, error) {
	return installProvider(ctx, "terraform-provider-openstack", openStackProvider)
}

func installProvider(ctx context.Context, name, module string) (string, error) {
	return built(name, []byte(module), func(dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", "install", module)
		cmd.Env = append(os.Environ(), "GOBIN="+dir)
		cmd.Dir = dir
		return cmd
	})
}

// BuildModule builds the program of a Go module in a folder, unless a program of the same sources
// is built, and returns its path. The module has a go.sum and no packages below the folder.
func BuildModule(ctx context.Context, folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return "", err
	}
	var sources bytes.Buffer
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&sources, "%s %d\n%s", filepath.Base(f), len(b), b)
	}
	name := filepath.Base(folder)
	return built(name, sources.Bytes(), func(dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-o",
			filepath.Join(dir, name), ".")
		cmd.Env, cmd.Dir = os.Environ(), folder
		return cmd
	})
}

// built returns the path of a program in a folder that build fills. The identity of its sources and
// of the toolchain names the folder.
func built(name string, identity []byte, build func(dir string) *exec.Cmd) (string, error) {
	sum := sha256.Sum256(append([]byte(runtime.Version()+"\n"), identity...))
	dir, err := cached(filepath.Join("servers", name+"-"+hex.EncodeToString(sum[:6])),
		func(dir string) error {
			cmd := build(dir)
			cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOFLAGS=-trimpath -ldflags=-s", "GOWORK=off",
				"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("build %s: %w\n%s", name, err, out)
			}
			return nil
		})
	return filepath.Join(dir, name), err
}
