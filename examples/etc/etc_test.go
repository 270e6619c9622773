package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"southbound/shared/buildtest"
)

// source makes a tree like /etc, so that the test says the same on every machine: directories,
// files, links, odd names and modes.
func source(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "etc")
	for d := range 60 {
		dir := filepath.Join(root, fmt.Sprintf("conf.%d", d%20), fmt.Sprintf("part %d", d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range 18 {
			name := filepath.Join(dir, fmt.Sprintf("file,%d=ü[x].conf", f))
			if err := os.WriteFile(name,
				[]byte(strings.Repeat(fmt.Sprintf("line %d of %d\x00\xff\n", f, d), f*7)),
				0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(name, []os.FileMode{0o600, 0o644, 0o755, 0o444}[f%4]); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("file,1=ü[x].conf", filepath.Join(dir, "current")); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestTree describes a tree of over a thousand things, deploys it elsewhere, compares both byte by
// byte, changes the copy by hand, and has that mended.
func TestTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := buildtest.Program(t, buildtest.Southbound)
	from, to, model := source(t), filepath.Join(dir, "copy"), filepath.Join(dir, "model")
	n, skipped, err := describe(from, to, model)
	if err != nil || n < 1000 || skipped != 0 {
		t.Fatalf("%d described, %d left out: %v", n, skipped, err)
	}
	apply := func(want string) {
		t.Helper()
		out, err := exec.Command(bin, "apply", model, "--data", filepath.Join(dir, "data")).
			CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%v: %s; want %q", err, out, want)
		}
	}
	apply(fmt.Sprintf("%d changed", n))
	compare(t, from, to)
	part := filepath.Join(to, "conf.3", "part 3")
	for _, err := range []error{os.WriteFile(filepath.Join(part, "file,1=ü[x].conf"),
		[]byte("by hand"), 0o600), os.Chmod(part, 0o700),
		os.Remove(filepath.Join(part, "current")), os.RemoveAll(filepath.Join(to, "conf.7"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	apply("repaired")
	compare(t, from, to)
	apply("0 changed")
}

// compare wants two trees to be the same: names, types, modes, owners, bytes and links.
func compare(t *testing.T, a, b string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(a, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		seen++
		rel, _ := filepath.Rel(a, path)
		if x, y := statOf(t, path), statOf(t, filepath.Join(b, rel)); x != y {
			t.Errorf("%s: %.200s, copy has %.200s", rel, x, y)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(b, func(string, fs.DirEntry, error) error {
		seen--
		return nil
	})
	if seen != 0 {
		t.Errorf("the copy has %d things more", -seen)
	}
}

func statOf(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	out := fmt.Sprintf("%v %d:%d ", info.Mode(), st.Uid, st.Gid)
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		link, _ := os.Readlink(path)
		return out + link
	case 0:
		b, _ := os.ReadFile(path)
		return out + string(bytes.TrimSpace(b))
	}
	return out
}
