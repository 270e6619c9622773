package acct

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
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
	err := inward(dir, func(p string) error {
		below, err := filepath.Rel(dir, p)
		given = append(given, below)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".profile", ".config/app", ".config", "."}; !slices.Equal(given, want) {
		t.Errorf("given away in the order %q, expected %q", given, want)
	}
}
