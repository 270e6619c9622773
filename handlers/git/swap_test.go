package git

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"southbound/shared/diff"
)

// TestNothingElseIsGivenAway has somebody who may write in the directory put a link in the place of
// the new checkout, just before that is given to whom git runs as.
func TestNothingElseIsGivenAway(t *testing.T) {
	g, source, dir := newRig(t), origin(t), t.TempDir()
	precious, path := filepath.Join(t.TempDir(), "precious"), filepath.Join(dir, "x")
	write(t, precious, "x")
	var was, is syscall.Stat_t
	if err := syscall.Stat(precious, &was); err != nil {
		t.Fatal(err)
	}
	struck := false
	g.strike(func(step string) {
		hidden := wanted{path: path}.hidden()
		if _, err := os.Lstat(hidden); err != nil || struck || step == "mkdir" {
			return
		}
		struck = true
		if err := os.Remove(hidden); err != nil {
			t.Error(err)
		}
		if err := os.Symlink(precious, hidden); err != nil {
			t.Error(err)
		}
	})
	if _, err := g.Apply(map[string]any{"path": path, "source": source, "user": "nobody"},
		false); err == nil || !struck {
		t.Errorf("struck: %t, %v", struck, err)
	}
	if err := syscall.Stat(precious, &is); err != nil || is.Uid != was.Uid {
		t.Errorf("it belongs to %d now, and to %d before: %v", is.Uid, was.Uid, err)
	}
}

// TestNothingElseIsRemoved has somebody put a link in the place of the directory that the checkout
// is in, before each step of its removal: what has the same name behind the link stays.
func TestNothingElseIsRemoved(t *testing.T) {
	for at := 1; ; at++ {
		g, source, dir, other := newRig(t), origin(t), t.TempDir(), t.TempDir()
		in := filepath.Join(dir, "in")
		write(t, other+"/x/precious", "x")
		write(t, in+"/.keep", "")
		attrs := map[string]any{"path": in + "/x", "source": source}
		g.Must(attrs, diff.Created)
		steps := 0
		g.strike(func(string) {
			if steps++; steps != at {
				return
			}
			if err := os.Rename(in, dir+"/moved"); err != nil {
				t.Error(err)
			}
			if err := os.Symlink(other, in); err != nil {
				t.Error(err)
			}
		})
		_, _ = g.Apply(attrs, true)
		has(t, other+"/x/precious", "x")
		if steps < at {
			return
		}
	}
}

// strike has something happen before each step of a change.
func (g *rig) strike(with func(step string)) {
	g.h.before = func(args []string) error { with(args[0]); return nil }
	g.Handler = g.h
}
