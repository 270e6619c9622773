package modtool

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplace writes a file whole, with its mode, where a link leads, and leaves nothing else.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "project.yml"), filepath.Join(dir, "link.yml")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil { // which a umask would take away
		t.Fatal(err)
	}
	if err := os.Symlink("project.yml", link); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(file) // as it is for who reads it meanwhile
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := Replace(link, []byte("after")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "after" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	seen := make([]byte, 16)
	if n, err := old.Read(seen); string(seen[:n]) != "before" {
		t.Errorf("the file was changed where it was: %q, %v", seen[:n], err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
}
