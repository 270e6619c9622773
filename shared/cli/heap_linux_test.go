package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestExpectMuch asks for huge pages where there is much to read, and leaves the pace of the
// collector as it was.
func TestExpectMuch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(file, make([]byte, manyBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	before := debug.SetGCPercent(150)
	defer debug.SetGCPercent(before)
	expectMuch(file)
	if now := debug.SetGCPercent(150); now != 150 {
		t.Errorf("the pace of the collector is %d, and was 150", now)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat("/sys/kernel/mm/transparent_hugepage")
	if asked := strings.Contains(string(maps), " hg"); asked != (err == nil) {
		t.Errorf("huge pages were asked for: %t; the system has them: %t", asked, err == nil)
	}
}

func TestIsLarge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		files, bytes int
		want         bool
	}{
		{"nothing", 0, 0, false},
		{"few small files", 10, 100, false},
		{"one that is nearly large", 1, manyBytes - 2*fileBytes, false},
		{"one large file", 1, manyBytes, true},
		{"many small files, as much is made of each", manyBytes / fileBytes, 1, true},
	} {
		dir := t.TempDir()
		for i := range c.files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, c.bytes),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := isLarge(dir); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	if isLarge(filepath.Join(t.TempDir(), "missing")) || isLarge("-") {
		t.Error("what is not there is large")
	}
}
