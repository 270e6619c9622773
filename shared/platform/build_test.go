package platform

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBuild tells programs apart that differ in one word of their code, and those of one source
// not.
func TestBuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := func(name, says string, flags ...string) string {
		t.Helper()
		source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, name)
		if err := os.WriteFile(source,
			[]byte("package main\n\nfunc main() { println(\""+says+"\") }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"build", "-trimpath", "-o", program}, flags...)
		if out, err := exec.CommandContext(t.Context(), "go", append(args, source)...).
			CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return buildOf(program)
	}
	one, again, other := build("a", "one"), build("b", "one"), build("c", "two")
	if one == "" || len(one) != 16 || one != again || one == other {
		t.Errorf("builds %q, %q of the same and %q of another source", one, again, other)
	}
	if bare, twice := build("d", "one", "-ldflags=-buildid="), build("e", "two",
		"-ldflags=-buildid="); bare == "" || bare == twice || bare == one {
		t.Errorf("without build ids: %q, %q", bare, twice)
	}
	if buildOf(filepath.Join(dir, "nothing")) != "" || Build() == "" {
		t.Error("what is not there has a build, or this program has none")
	}
}
