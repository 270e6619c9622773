// Package packs downloads packages of npm in locked versions. It runs none of their scripts, and
// installs none of their dependencies.
package packs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed assets.lock
var lock string

// maxPackage bounds a package when it is unpacked, in bytes.
const maxPackage = 512 << 20

// Pack is a locked package. Sum is the SHA-512 of its archive, as registries state it.
type Pack struct{ Name, Version, Sum string }

// Locked returns the locked package with a name.
func Locked(name string) (Pack, error) {
	for line := range strings.Lines(lock) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == name {
			return Pack{f[0], f[1], f[2]}, nil
		}
	}
	return Pack{}, fmt.Errorf("%s: no such package in assets.lock", name)
}

// Fetch returns the archive of a package. It asks npm if the user's cache has no archive with the
// right sum. An archive with another sum is an error.
func Fetch(ctx context.Context, p Pack) ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "southbound", "npm")
	name := strings.NewReplacer("@", "", "/", "-").Replace(p.Name) + "-" + p.Version + ".tgz"
	file := filepath.Join(dir, name)
	if b, err := os.ReadFile(file); err == nil && p.check(b) == nil {
		return b, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, fmt.Errorf("%s: npm is missing; install it (apt-get install npm)", p.Name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	cmd := exec.CommandContext(ctx, "npm", "pack", p.Name+"@"+p.Version, "--ignore-scripts",
		"--silent", "--pack-destination", temp)
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s %s: npm pack: %w\n%s", p.Name, p.Version, err, out)
	}
	b, err := os.ReadFile(filepath.Join(temp, name))
	if err != nil {
		return nil, err
	}
	if err := p.check(b); err != nil {
		return nil, err
	}
	return b, os.Rename(filepath.Join(temp, name), file)
}

// check compares the sum of an archive with the locked one.
func (p Pack) check(archive []byte) error {
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != p.Sum {
		return fmt.Errorf("%s %s: the archive has the sum %s, but %s is locked; compare the package "+
			"with its release before you change assets.lock", p.Name, p.Version, got, p.Sum)
	}
	return nil
}

// Files returns the regular files of an archive for whose names want returns true. Names begin
// below the folder "package".
func Files(archive []byte, want func(name string) bool) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r, left := tar.NewReader(z), int64(maxPackage); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if left -= h.Size; left < 0 {
			return nil, fmt.Errorf("archive: more than %d bytes", int64(maxPackage))
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || !want(name) {
			continue
		}
		if files[name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}
