package scaffold

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/buildtest"
	"southbound/shared/fault"
)

// TestPackBuildsAndPasses makes a pack outside of this module, adds handlers to it, and runs what
// its author would.
func TestPackBuildsAndPasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := Pack(dir, "acme", "../..", false)
	if err != nil {
		t.Fatal(err)
	}
	checkMentioned(t, filepath.Join(dir, "acme"))
	var got []string
	for _, f := range files {
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rel)
	}
	slices.Sort(got)
	want := []string{"acme/README.md", "acme/go.mod", "acme/go.sum", "acme/handlers/acme/doc.go",
		"acme/handlers/acme/thing.go", "acme/handlers/acme/thing.yaml",
		"acme/handlers/acme/thing_test.go", "acme/handlers/handlers.go",
		"acme/handlers/handlers_test.go", "acme/main.go"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	root := filepath.Join(dir, "acme")
	for _, typ := range []string{"acme::VlanPort", "net::sub::vlan_port_linux", "fs::Type",
		"type::Func"} {
		// beside one, below two, and names that mean something to Go
		if _, err := Handler(filepath.Join(root, "handlers"), typ, nil); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
	env := append(buildtest.Pack(t, root), "API_TOKEN=t")
	run := func(name string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env = root, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	bin := filepath.Join(dir, "bin")
	run("go", "build", "-o", bin, ".")
	run("go", "test", "-vet=off", "./...")
	buildtest.Vet(t, root, env)
	list := run(bin, "types")
	for _, typ := range []string{"acme::Thing", "acme::VlanPort", "net::sub::vlan_port_linux",
		"fs::Type", "fs::File", "type::Func"} {
		if !strings.Contains(list, typ+" ") {
			t.Errorf("%s is not in\n%s", typ, list)
		}
	}
	run(bin, "validate", "handlers/acme/thing.yaml")
	if out := run("gofmt", "-l", "."); out != "" {
		t.Errorf("not formatted: %s", out)
	}
}

// checkMentioned looks for files that the README of a pack speaks of.
func checkMentioned(t *testing.T, root string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		if strings.HasSuffix(word, ".yaml") {
			if _, err := os.Stat(filepath.Join(root, word)); err != nil {
				t.Errorf("the README speaks of %s, which is not there", word)
			}
		}
	}
}

// TestGoNames pins that no pack can have a name that Go keeps for its library: none of its packages
// could be imported.
func TestGoNames(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		name, _, _ := strings.Cut(p, "/")
		if !goLibrary(name) {
			t.Errorf("%s is in Go's library", name)
		}
	}
	if goLibrary("acme") {
		t.Error("acme is not in Go's library")
	}
}

// TestNothingIsOverwritten pins that what is there stays, whole.
func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Pack(dir, "acme", "../..", false); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "acme")
	before, err := os.ReadFile(filepath.Join(root, "handlers", "handlers.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		why  string
		make func() ([]string, error)
		kind fault.Kind
	}{
		{"the pack is there", func() ([]string, error) { return Pack(dir, "acme", "../..", false) },
			fault.Conflict},
		{"the handler is there", func() ([]string, error) { return Handler(root, "acme::Thing", nil) },
			fault.Conflict},
		{"no type", func() ([]string, error) { return Handler(root, "Thing", nil) }, fault.Usage},
		{"a way out", func() ([]string, error) { return Handler(root, "..::Thing", nil) }, fault.Usage},
		{"no module", func() ([]string, error) { return Handler("/", "x::Y", nil) }, fault.NotFound},
		{"no name", func() ([]string, error) { return Pack(dir, "../x", "../..", false) },
			fault.Usage},
		{"a name that Go knows", func() ([]string, error) {
			return Pack(dir, "main", "../..", false)
		}, fault.Usage},
		{"the name of Southbound", func() ([]string, error) {
			return Pack(dir, "southbound", "../..", false)
		}, fault.Usage},
		{"a name of Go's library", func() ([]string, error) {
			return Pack(dir, "fmt", "../..", false)
		}, fault.Usage},
		{"a type that there is", func() ([]string, error) {
			return Handler(root, "fs::File", []string{"acme::Thing", "fs::File"})
		}, fault.Conflict},
		{"no checkout", func() ([]string, error) { return Pack(dir, "other", "", false) },
			fault.Usage},
		{"another module", func() ([]string, error) { return Pack(dir, "other", root, false) },
			fault.Usage},
	} {
		files, err := tc.make()
		if !fault.Is(err, tc.kind) || len(files) > 0 {
			t.Errorf("%s: %v, %v", tc.why, files, err)
		}
	}
	after, err := os.ReadFile(filepath.Join(root, "handlers", "handlers.go"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the list has changed, %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Error("something of a pack is there")
	}
	// A list that cannot be found is said, and nothing is written.
	if err := os.WriteFile(filepath.Join(root, "handlers", "handlers.go"),
		[]byte("package handlers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Handler(root, "acme::Other", nil); err == nil ||
		!strings.Contains(err.Error(), "no list") {
		t.Errorf("without a list: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "handlers", "acme", "other.go")); err == nil {
		t.Error("a handler was written that is in no list")
	}
}

// TestEmptyPack pins that a pack can be written without a type to begin with.
func TestEmptyPack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := Pack(dir, "acme", "../..", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f, "thing") {
			t.Errorf("there is %s", f)
		}
	}
	checkMentioned(t, filepath.Join(dir, "acme"))
	list, err := os.ReadFile(filepath.Join(dir, "acme", "handlers", "handlers.go"))
	if err != nil || !strings.Contains(string(list), "[]provider.Definition{}") {
		t.Errorf("%s, %v", list, err)
	}
	if _, err := Handler(filepath.Join(dir, "acme"), "acme::Box", nil); err != nil {
		t.Errorf("the first type: %v", err)
	}
}
