package local

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLeases pins that leases are kept sealed, by their names, and that one of another key counts as
// none.
func TestLeases(t *testing.T) {
	t.Parallel()
	home := &Home{Dir: t.TempDir()}
	of := leases{home.Secrets()}
	if got, err := of.Load("a"); got != nil || err != nil {
		t.Fatalf("before any: %q, %v", got, err)
	}
	for _, lease := range []string{"first s3cr3t", "next s3cr3t"} {
		if err := of.Save("a", []byte(lease)); err != nil {
			t.Fatal(err)
		}
		if got, err := (leases{home.Secrets()}).Load("a"); string(got) != lease || err != nil {
			t.Errorf("another process loads %q, %v; want %q", got, err, lease)
		}
	}
	if got, err := of.Load("b"); got != nil || err != nil {
		t.Errorf("another name: %q, %v", got, err)
	}
	files, _ := filepath.Glob(filepath.Join(home.Dir, leasesDir, "*"))
	if len(files) != 1 {
		t.Fatalf("the files are %v", files)
	}
	b, err := os.ReadFile(files[0])
	info, _ := os.Stat(files[0])
	if err != nil || bytes.Contains(b, []byte("s3cr3t")) || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %q, %v, %v", b, info.Mode(), err)
	}
	if err := os.Remove(filepath.Join(home.Dir, "key")); err != nil {
		t.Fatal(err)
	}
	if got, err := (leases{home.Secrets()}).Load("a"); got != nil || err != nil {
		t.Errorf("with another key: %q, %v", got, err)
	}
}
