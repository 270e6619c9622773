package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

// TestForgetStart holds that code which only the start needs does not stay in memory: of 20 MB, 8
// are used again by an apply of 10,000 files.
func TestForgetStart(t *testing.T) {
	before := codeInMemory(t)
	forgetStart()
	if after := codeInMemory(t); after > before/2 {
		t.Errorf("%d of %d kB of code are still in memory", after, before)
	}
}

// codeInMemory returns how many kB of the code of this program are in its memory.
func codeInMemory(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	here, in := uint64(reflect.ValueOf(forgetStart).Pointer()), false
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var size int
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 {
			in = here >= from && here < to
		} else if n, _ := fmt.Sscanf(line, "Rss: %d kB", &size); n == 1 && in {
			return size
		}
	}
	t.Fatal("the code is not found")
	return 0
}

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
