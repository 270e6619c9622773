package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// TestFullDiskIsRead fills the disk of a data directory: what is stored can be read, and once there
// is room, the reserve is made again. Where this process may mount nothing, only the reserve itself
// is tested.
func TestFullDiskIsRead(t *testing.T) {
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700")
	switch {
	case err == nil:
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		t.Fatal(err)
	}
	mounted := err == nil
	open := func() *Home {
		t.Helper()
		h, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	reserved := func() int64 {
		info, err := os.Stat(filepath.Join(dir, reserveName))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	h := open()
	now := time.Now()
	l, err := h.Acquire(t.Context(), "e", state.PlanKey, h.Holder(), now, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	c := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence},
		Env: &state.Env{Name: "e", Last: 7}}
	if _, err := h.Commit(t.Context(), "e", c); err != nil {
		t.Fatal(err)
	}
	_ = h.Close()
	if reserved() != reserveSize {
		t.Fatalf("the reserve has %d bytes", reserved())
	}
	if !mounted {
		return
	}
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for range 2 {
		h = open()
		if e, err := h.Env(t.Context(), "e"); err != nil || e.Last != 7 {
			t.Errorf("got %+v, %v", e, err)
		}
		_ = h.Close()
		if reserved() != 0 {
			t.Error("the reserve is there")
		}
	}
	// The system may give back late what files had that are closed: then there is some room once more.
	fills := []string{fill}
	for full := false; !full; {
		more := fmt.Sprint(fill, len(fills))
		if err := os.WriteFile(more, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		h, err := Open(dir)
		if full = fault.Is(err, fault.Full); err == nil {
			_ = h.Close()
		}
		if fills = append(fills, more); !full && len(fills) > 10 {
			t.Fatalf("without any room: %v", err)
		}
	}
	for _, f := range fills {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	_ = open().Close()
	if reserved() != reserveSize {
		t.Errorf("then the reserve has %d bytes", reserved())
	}
}
