package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// openTofu is the module of OpenTofu, and getter the one by which it downloads modules.
const (
	openTofu = "github.com/opentofu/opentofu@v1.12.6"
	getter   = "github.com/hashicorp/go-getter@v1.8.6"
)

// omission removes lines of a source file of OpenTofu.
type omission struct {
	file  string
	lines *regexp.Regexp
}

// omissions are the clients of clouds: backends of states, providers of keys, and sources of modules.
// Without them, the build takes half of the time and needs no SDK of a cloud.
func omissions() []omission {
	return []omission{
		{"internal/backend/init/init.go",
			regexp.MustCompile(`(?m)^.*backend(Azure|Consul|Cos|GCS|Kubernetes|OSS|Pg|S3)\b.*\n`)},
		{"internal/encryption/default_registry.go",
			regexp.MustCompile(`(?m)^.*keyprovider/(aws_kms|azure_vault|gcp_kms|openbao)"\n|` +
				`^.*\((aws_kms|azure_vault|gcp_kms|openbao)\.New\(\)\).*\n.*\n\t}\n`)},
		{"internal/getmodules/getter.go", regexp.MustCompile(`(?m)^.*new\(getter\.(GCS|S3)Getter\).*\n`)},
		{"go-getter/get.go", regexp.MustCompile(`(?m)^.*new\((GCS|S3)Getter\).*\n`)},
		{"go-getter/get_gcs.go", nil},
		{"go-getter/get_s3.go", nil},
	}
}

// InstallOpenTofu builds OpenTofu without clients of clouds, unless it is built, and returns the path of
// its program. The checksum database of Go modules verifies its sources.
func InstallOpenTofu(ctx context.Context) (string, error) {
	identity := openTofu + "\n" + getter
	for _, o := range omissions() {
		identity += fmt.Sprintf("\n%s %v", o.file, o.lines)
	}
	from, err := os.MkdirTemp("", "opentofu-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(from)
	return built("tofu", []byte(identity), func(dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", filepath.Join(dir, "tofu"), "./cmd/tofu")
		cmd.Env, cmd.Dir = os.Environ(), from
		cmd.Err = errors.Join(cmd.Err, prepareOpenTofu(ctx, from))
		return cmd
	})
}

// prepareOpenTofu copies the sources of OpenTofu, since those in the module cache are read-only, and
// applies the omissions.
func prepareOpenTofu(ctx context.Context, to string) error {
	for module, parts := range map[string][]string{
		openTofu: {"cmd", "internal", "version", "go.mod", "go.sum"}, getter: {"."}} {
		from, err := downloaded(ctx, module)
		if err != nil {
			return err
		}
		into := to
		if module == getter {
			into = filepath.Join(to, "go-getter")
		}
		for _, part := range parts {
			if err := copyTree(filepath.Join(from, part), filepath.Join(into, part)); err != nil {
				return err
			}
		}
	}
	for _, o := range omissions() {
		if err := o.apply(to); err != nil {
			return err
		}
	}
	name, _, _ := strings.Cut(getter, "@")
	f, err := os.OpenFile(filepath.Join(to, "go.mod"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\nreplace %s => ./go-getter\n", name)
	return errors.Join(err, f.Close())
}

// apply removes the lines, or the file if there are none.
func (o omission) apply(root string) error {
	path := filepath.Join(root, filepath.FromSlash(o.file))
	if o.lines == nil {
		return os.Remove(path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	less := o.lines.ReplaceAll(text, nil)
	if bytes.Equal(less, text) {
		return fmt.Errorf("%s has no line of %v", o.file, o.lines)
	}
	return os.WriteFile(path, less, 0o600)
}

// downloaded returns the folder of a module in the module cache.
func downloaded(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, out)
	}
	var m struct{ Dir string }
	return m.Dir, json.Unmarshal(out, &m)
}

// copyTree copies a file or the files of a folder without tests, writable.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		rest, relErr := filepath.Rel(from, path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		target := filepath.Join(to, rest)
		switch {
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular() || strings.HasSuffix(d.Name(), "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}
