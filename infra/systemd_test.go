package infra

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstall installs into an empty directory what docs/systemd.md says, and removes it again.
func TestInstall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runMake := func(target string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "make", "-C", "..", target, "DESTDIR="+dir,
			"PREFIX=/opt/sb", "BIN="+filepath.Join(dir, "built"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", target, err, out)
		}
	}
	runMake("install")
	unit := filepath.Join(dir, "opt/sb/lib/systemd/system/southbound.service")
	text, err := os.ReadFile(unit)
	if err != nil ||
		!strings.Contains(string(text),
			"ExecStart=/opt/sb/bin/southbound run --listen 127.0.0.1:") {
		t.Errorf("%v\n%s", err, text)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "opt/sb/bin/southbound"),
		"--version").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if info, err := os.Stat(filepath.Join(dir,
		"opt/sb/share/bash-completion/completions/southbound")); err != nil || info.Size() == 0 {
		t.Error(err)
	}
	runMake("uninstall")
	if _, err := os.Stat(unit); err == nil {
		t.Error("the unit is still there")
	}
}
