// Package debtest gets real programs for tests from packages of Debian, unpacked and not installed, so that nothing of the machine changes.
package debtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// limit bounds a download.
const limit = 2 * time.Minute

// Program returns the path of a program: the one of the machine, or else that at path (such as usr/bin/crontab) in the package, which is unpacked into the
// user's cache once for all tests.
func Program(ctx context.Context, pkg, path string) (string, error) {
	if have, err := exec.LookPath(filepath.Base(path)); err == nil {
		return have, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "southbound-test", pkg)
	program := filepath.Join(dir, path)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), pkg+"-")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// The second try is for a machine that has no lists of packages yet.
	const script = `(apt-get download -q "$0" || { apt-get update -q && apt-get download -q "$0"; }) && dpkg-deb -x "$0"_*.deb . && rm "$0"_*.deb`
	cmd := exec.CommandContext(ctx, "sh", "-c", script, pkg)
	cmd.Dir = made
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(made)
		return "", fmt.Errorf("unpack %s: %w\n%s", pkg, err, out)
	}
	if err := os.Rename(made, dir); err != nil { // another process was faster
		_ = os.RemoveAll(made)
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("the package %s has no %s: %w", pkg, path, err)
	}
	return program, nil
}
