package buildtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/buildtest"
)

// module makes a checkout of a program that says something.
func module(t *testing.T, says string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module southbound\n\ngo 1.26\n")
	write(t, filepath.Join(root, "cmd", "hello", "main.go"),
		"package main\n\nimport _ \"embed\"\n\n//go:embed text\nvar text string\n\n"+
			"func main() { print(text) }\n")
	write(t, filepath.Join(root, "cmd", "hello", "text"), says)
	return root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// says builds the program and returns what it says, and the file that it is.
func says(t *testing.T, flags ...string) (string, os.FileInfo) {
	t.Helper()
	program := buildtest.Program(t, "southbound/cmd/hello", flags...)
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), info
}

// TestProgram holds that a program is of the sources that there are now, and is built once.
func TestProgram(t *testing.T) {
	root := module(t, "one")
	t.Chdir(filepath.Join(root, "cmd", "hello"))
	got, first := says(t)
	if got != "one" {
		t.Errorf("it says %q", got)
	}
	if _, again := says(t); !os.SameFile(first, again) {
		t.Error("what is there is built again")
	}
	write(t, "text", "two") // of the same size
	if got, _ := says(t); got != "two" {
		t.Errorf("changed, it says %q", got)
	}
	if got, _ := says(t, "-ldflags=-w"); got != "two" {
		t.Errorf("with other flags it says %q", got)
	}
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -tags=some")
	if got, _ := says(t); got != "two" {
		t.Errorf("with other flags of the environment it says %q", got)
	}
	made, err := filepath.Glob(filepath.Join(root, "bin", "built", "*", "hello"))
	if err != nil || len(made) != 3 {
		t.Errorf("one for each kind of flags: %q, %v", made, err)
	}
}

// TestProgramIsGone holds that what somebody removes is built again, and that what was handed out
// stays.
func TestProgramIsGone(t *testing.T) {
	root := module(t, "here")
	t.Chdir(root)
	handed := buildtest.Program(t, "southbound/cmd/hello")
	if err := os.RemoveAll(filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	if got, _ := says(t); got != "here" {
		t.Errorf("it says %q", got)
	}
	if out, err := exec.CommandContext(t.Context(), handed).CombinedOutput(); err != nil ||
		string(out) != "here" {
		t.Errorf("what was handed out: %v\n%s", err, out)
	}
}

// TestNothingIsBuilt holds that errors of go are told, and that no program of before is handed out
// then.
func TestNothingIsBuilt(t *testing.T) {
	root := module(t, "one")
	t.Chdir(root)
	says(t)
	write(t, filepath.Join(root, "cmd", "hello", "wrong.go"), "package main\n\nvar x = missing\n")
	err := buildtest.Into(t.Context(), t.TempDir(), nil, "southbound/cmd/hello")
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("the error is %v", err)
	}
	t.Chdir(t.TempDir())
	err = buildtest.Into(t.Context(), t.TempDir(), nil, "southbound/cmd/hello")
	if err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("outside of a checkout the error is %v", err)
	}
}

// TestAtOnce holds that several may ask at once.
func TestAtOnce(t *testing.T) {
	t.Chdir(module(t, "one"))
	errs := make(chan error)
	for range 4 {
		dir := t.TempDir()
		go func() {
			err := buildtest.Into(t.Context(), dir, nil, "southbound/cmd/hello")
			if err == nil {
				err = exec.CommandContext(t.Context(), filepath.Join(dir, "hello")).Run()
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestWorkspace holds that a program is also of what there is now of modules in other directories.
func TestWorkspace(t *testing.T) {
	root, other := module(t, ""), t.TempDir()
	write(t, filepath.Join(root, "cmd", "hello", "main.go"),
		"package main\n\nimport \"other\"\n\nfunc main() { print(other.Says) }\n")
	write(t, filepath.Join(other, "go.mod"), "module other\n\ngo 1.26\n")
	write(t, filepath.Join(root, "go.work"), "go 1.26\n\nuse (\n\t.\n\t"+other+"\n)\n")
	t.Setenv("GOWORK", "")
	t.Chdir(root)
	for _, want := range []string{"one", "two"} {
		write(t, filepath.Join(other, "other.go"), "package other\n\nconst Says = \""+want+"\"\n")
		if got, _ := says(t); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
