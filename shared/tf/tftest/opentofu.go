package tftest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// Tofu is a working directory of OpenTofu.
type Tofu struct {
	Dir string

	t       testing.TB
	program string
}

// NewTofu returns a working directory in which the providers example.com/a/NAME are programs, by their
// names. It needs no `tofu init`.
func NewTofu(t testing.TB, programs map[string]string) *Tofu {
	t.Helper()
	o := &Tofu{Dir: t.TempDir(), t: t}
	var err error
	if o.program, err = server.InstallOpenTofu(t.Context()); err != nil {
		t.Fatal(err)
	}
	var overrides strings.Builder
	for name, program := range programs {
		dir := filepath.Join(o.Dir, "programs", name)
		if err := errors.Join(os.MkdirAll(dir, 0o700),
			os.Symlink(program, filepath.Join(dir, "terraform-provider-"+name))); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&overrides, "%q = %q\n", "example.com/a/"+name, dir)
	}
	o.Write("tofu.rc", "disable_checkpoint = true\nprovider_installation {\ndev_overrides {\n"+
		overrides.String()+"}\n}\n")
	return o
}

// Write writes a file.
func (o *Tofu) Write(name, text string) {
	o.t.Helper()
	path := filepath.Join(o.Dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		o.t.Fatal(err)
	}
}

// Do runs a command, and returns its output and its messages.
func (o *Tofu) Do(args ...string) (out []byte, messages string, err error) {
	cmd := exec.CommandContext(o.t.Context(), o.program, args...)
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(o.Dir, "tofu.rc"), "TF_IN_AUTOMATION=1",
		"TF_LOG_SDK=off", "GOMAXPROCS=2")
	var text strings.Builder
	cmd.Stderr = &text
	out, err = cmd.Output()
	return out, text.String(), err
}

// Reads runs a command that changes nothing, and returns its output. The command is repeated, since
// OpenTofu gives a provider on a busy machine little time to start.
func (o *Tofu) Reads(args ...string) []byte {
	o.t.Helper()
	for n := 1; ; n++ {
		out, messages, err := o.Do(args...)
		if err == nil {
			return out
		}
		if n == 3 {
			o.t.Fatalf("tofu %s: %v\n%s%s", strings.Join(args, " "), err, out, messages)
		}
	}
}
