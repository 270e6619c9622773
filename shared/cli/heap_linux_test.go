package cli

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestTextSize counts the texts of a model, and not what lies beside them.
func TestTextSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, size := range map[string]int{
		"main.cf": 100, "libs/net/model/_init.cf": 20, "libs/net/files/x.txt": 3000,
		".env/lib/inmanta_plugins/net/model/_init.cf": 500,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int64{".": 120, "main.cf": 100, "missing": 0} {
		if got := textSize(filepath.Join(dir, path)); got != want {
			t.Errorf("%s: %d, expected %d", path, got, want)
		}
	}
}

// TestCollectSeldomIsSeen sets a pace that differs from any that was set before, as whoever keeps
// to one of its own tells by the number that another was set.
func TestCollectSeldomIsSeen(t *testing.T) {
	t.Setenv("GOGC", "")
	for _, own := range []int{100, 1000} {
		before := debug.SetGCPercent(own)
		undo := collectSeldom()
		now := debug.SetGCPercent(-1)
		debug.SetGCPercent(now)
		undo()
		if now == own || now < 1000 {
			t.Errorf("the pace is %d, and was %d", now, own)
		}
		if after := debug.SetGCPercent(before); after != own {
			t.Errorf("the pace is %d afterwards, and was %d", after, own)
		}
	}
}
