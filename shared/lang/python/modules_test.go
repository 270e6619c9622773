package python_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/lang/python"
)

// TestFind holds what is said of virtual environments that are missing or broken.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, wrong := python.Find(filepath.Join(dir, ".env")); !strings.Contains(
		wrong,
		"there is no",
	) {
		t.Errorf("of a missing one it says %q", wrong)
	}
	bin := filepath.Join(dir, ".env", "bin")
	if err := os.MkdirAll(bin, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(bin, "python")); err != nil {
		t.Fatal(err)
	}
	if _, wrong := python.Find(filepath.Join(dir, ".env")); !strings.Contains(wrong,
		"bin/python does not lead to a Python program") {
		t.Errorf("of one whose Python was removed it says %q", wrong)
	}
	if err := os.WriteFile(filepath.Join(dir, "gone"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if path, wrong := python.Find(filepath.Join(dir, ".env")); wrong != "" || path == "" {
		t.Errorf("%q, %q", path, wrong)
	}
}

// TestNotPython holds what is said of a program that is not Python.
func TestNotPython(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no program": {"", "cannot be started"},
		"ends": {"#!/bin/sh\necho 'no such option' >&2\nexit 2\n",
			"is not a usable Python (exit status 2); create the virtual environment " +
				"again, such as with `southbound project install`; the last that it wrote:\n" +
				"no such option"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "python")
			if err := os.WriteFile(path, []byte(test.text), 0o700); err != nil {
				t.Fatal(err)
			}
			h, err := python.Start(t.Context(), python.Options{Python: path, Dir: dir, Shown: "."})
			if err == nil {
				defer h.Close()
				_, err = h.Load()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
