package acct

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"southbound/handlers/internal/rigtest"
	"southbound/handlers/internal/roottest"
	"southbound/shared/diff"
)

// TestHomeIsGivenAwayLast pins that a home directory goes to its user after all that is in it: a
// user who had it before could put links there, which the superuser would then follow.
func TestHomeIsGivenAwayLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	skel := fstest.MapFS{".config/app": {}, ".profile": {}}
	if err := os.CopyFS(dir, skel); err != nil {
		t.Fatal(err)
	}
	var given []string
	err := inward(os.DirFS(dir), func(name string) error {
		given = append(given, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".profile", ".config/app", ".config", "."}; !slices.Equal(given, want) {
		t.Errorf("given away in the order %q, expected %q", given, want)
	}
}

// TestLongestHome makes a home directory whose name is as long as names can be, and makes it again
// when it is gone.
func TestLongestHome(t *testing.T) {
	if roottest.Limited() { // which cannot give a directory to its user
		return
	}
	for _, base := range []string{strings.Repeat("n", 255), strings.Repeat("é", 127) + "n"} {
		g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
		home := "/home/" + base
		attrs := map[string]any{"name": "bob", "home": home, "manage_home": true,
			"authorized_keys": []any{"ssh-rsa A"}}
		g.Must(attrs, diff.Created)
		g.has(home+"/.ssh/authorized_keys", "ssh-rsa A")
		if err := os.RemoveAll(g.root + home); err != nil {
			t.Fatal(err)
		}
		g.Must(attrs, diff.Updated)
		g.has(home+"/.hello", "hello")
		if names, err := os.ReadDir(g.root + "/home"); err != nil || len(names) != 2 {
			t.Fatal(names, err)
		}
	}
}
