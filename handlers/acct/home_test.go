package acct

import (
	"os"
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
