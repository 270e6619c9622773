package acct

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/rigtest"
	"southbound/handlers/internal/roottest"
	"southbound/shared/diff"
)

// TestNothingElseIsGivenAway has somebody who may write in a directory put something of the
// superuser's in the place of what is being made there for a user, before each step.
func TestNothingElseIsGivenAway(t *testing.T) {
	for why, tc := range map[string]struct {
		made string // what is made
		gone string // what is missing at first
		put  func(g *rig, at string) error
	}{
		"the keys": {".ssh", ".ssh", func(g *rig, at string) error {
			return os.Rename(g.root+"/precious", at)
		}},
		"the home directory": {"", "", func(g *rig, at string) error {
			return os.Symlink(g.root+"/precious", at)
		}},
	} {
		if roottest.Limited() {
			continue // where there is nobody else
		}
		for n, over := 1, false; !over; n++ {
			steps := 0
			g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
			attrs := map[string]any{"name": "bob", "uid": int64(3000), "manage_home": true,
				"home": "/home/bob", "authorized_keys": []any{"ssh-rsa A"}}
			g.Must(attrs, diff.Created)
			place := filepath.Join(g.root, "home/bob", tc.made)
			err := errors.Join(os.RemoveAll(filepath.Join(g.root, "home/bob", tc.gone)),
				os.Mkdir(g.root+"/precious", 0o700),
				os.WriteFile(g.root+"/precious/.hello", nil, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			dir, base := filepath.Split(place)
			u := user{host{root: g.root}}
			u.host.before = func([]string) error {
				made, _ := filepath.Glob(dir + "." + base + ".southbound-*")
				if _, err := os.Lstat(place); err == nil {
					made = append(made, place)
				}
				if steps++; steps != n || len(made) == 0 {
					return nil
				}
				return errors.Join(os.RemoveAll(dir+"aside"), os.Rename(made[0], dir+"aside"),
					tc.put(g, made[0]))
			}
			g.Handler = u
			_, _ = g.Apply(attrs, false)
			over = steps < n
			for _, at := range []string{g.root + "/precious", place, dir + disk.Leftover(base)} {
				for _, at := range []string{at, at + "/.hello"} {
					var st syscall.Stat_t
					if err := syscall.Stat(at, &st); err == nil && st.Uid == 3000 && precious(at) {
						t.Errorf("%s, before step %d: %s is given away", why, n, at)
					}
				}
			}
		}
	}
}

// precious reports whether a thing is that of the superuser: the file in it is empty.
func precious(at string) bool {
	if filepath.Base(at) != ".hello" {
		at += "/.hello"
	}
	info, err := os.Stat(at)
	return err == nil && info.Size() == 0
}
