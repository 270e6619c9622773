package buildtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Pack returns the environment in which go builds a pack, a module that requires southbound, as
// one workspace with this checkout. So what is compiled for other tests serves the pack as well. By
// itself southbound would be a replaced module with a version, which packages know with -trimpath,
// and all would be compiled, and vetted, a second time. That go.mod and go.sum of the pack are
// complete by themselves is held before.
func Pack(t testing.TB, dir string) []string {
	t.Helper()
	root, err := checkout()
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath", "CGO_ENABLED=0")
	list := exec.CommandContext(t.Context(), "go", "list", "-mod=readonly", "-deps", "-test", "./...")
	list.Dir, list.Env = dir, append(env, "GOWORK=off")
	if out, err := list.CombinedOutput(); err != nil {
		t.Fatalf("the modules of the pack: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(t.TempDir(), "go.work")
	if err := os.WriteFile(work, fmt.Appendf(nil, "%s\n\nuse (\n\t%q\n\t%q\n)\n",
		goLine(string(text)), root, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(env, "GOWORK="+work)
}

// goLine is the line of a go.mod that says which Go it is for; a workspace has the same.
func goLine(mod string) string {
	return strings.TrimSpace(regexp.MustCompile(`(?m)^go .*$`).FindString(mod))
}

// Vet vets a pack, in the environment of Pack, as `make test` vets all others, with the race
// detector: so what it imports is compiled already, and what is to be known of that is known.
func Vet(t testing.TB, dir string, env []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "vet", "-race", "-tags", "servers", "./...")
	cmd.Dir, cmd.Env = dir, append(env, "GOFLAGS="+os.Getenv("GOFLAGS"), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("vet the pack: %v\n%s", err, out)
	}
}
