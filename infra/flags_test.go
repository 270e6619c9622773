package infra_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFlagsAreOfPackages pins that what the test command compiles in another way is compiled at
// all: the go command says nothing of a pattern that no longer fits any package.
func TestFlagsAreOfPackages(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range regexp.MustCompile(
		`(?m)^for p in (.+); do$|/(?:src/)?([a-z][\w./]+)/\.\.\.=`).FindAllSubmatch(script, -1) {
		named = append(named, strings.Fields(string(m[1])+" "+string(m[2]))...)
	}
	if len(named) < 5 {
		t.Fatalf("test.sh names %q alone", named)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-test", "-deps", "-tags", "servers",
		"./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	for _, name := range named {
		if !slices.ContainsFunc(all, func(p string) bool {
			return p == name || strings.HasPrefix(p, name+"/")
		}) {
			t.Errorf("%s: nothing is compiled with these flags", name)
		}
	}
}
