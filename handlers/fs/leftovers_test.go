package fs

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// TestLeftoversOfMany holds that what crashes left is removed whether a directory has few things to
// be read, each of whose hidden names is asked for, or many, whose names are listed once.
func TestLeftoversOfMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		files   int
		foreign int  // other names in the directory
		closed  bool // names cannot be listed

		listed, each bool // names are listed, and each hidden one is asked for
	}{
		{name: "a few", files: crowded - 1, each: true},
		{name: "many", files: crowded, listed: true},
		{name: "many among more than are listed", files: crowded, foreign: mostListed, listed: true,
			each: true},
		{name: "many where a list is refused", files: crowded, closed: true, listed: true,
			each: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, File())
			var asked, listed atomic.Int64
			sys := &disk.System{Before: func(call string) error {
				switch call {
				case "stat":
					asked.Add(1)
				case "list":
					if listed.Add(1); c.closed {
						return unix.EIO
					}
				}
				return nil
			}}
			for i := range c.foreign {
				g.write(fmt.Sprintf("foreign%05d", i), "", 0o600)
			}
			var reads []provider.BatchRead
			for i := range c.files {
				name := fmt.Sprint("f", i)
				g.write(name, name, 0o600)
				if i%10 == 3 {
					g.write(disk.Leftover(name), "cut", 0o600)
				}
				r := g.resource(map[string]any{"path": g.path(name), "content": name})
				reads = append(reads, provider.BatchRead{Context: g.ctx(),
					ReadRequest: provider.ReadRequest{Resource: r}})
			}
			for i, got := range (file{sys}).ReadBatch(t.Context(), reads) {
				if got.Err != nil || !got.Observation.Exists {
					t.Fatalf("%d: %v", i, got)
				}
			}
			entries, err := os.ReadDir(g.dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".") {
					t.Errorf("%s is left", e.Name())
				}
			}
			if each := asked.Load() >= int64(c.files); each != c.each {
				t.Errorf("the system was asked for %d names of %d", asked.Load(), c.files)
			}
			if got := listed.Load() > 0; got != c.listed {
				t.Errorf("names were listed: %t", got)
			}
		})
	}
}
