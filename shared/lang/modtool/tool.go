// Package modtool does what the commands project and module do: it makes, installs, lists, freezes,
// builds and releases modules.
package modtool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"southbound/shared/child"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// Tool works on the project or module in a folder.
type Tool struct {
	Dir string
	// Say tells people what was done, a line each.
	Say func(format string, args ...any)
	// Warn tells people what is wrong and not an error.
	Warn func(diag.Problem)
	// BuiltIn says which modules are part of the program, and are not installed.
	BuiltIn func(name string) bool
}

// folder returns the folder that the tool works on.
func (t *Tool) folder() folder { return folder{dir: t.Dir, warn: t.warn, builtIn: t.BuiltIn} }

func (t *Tool) warn(warnings diag.Problems) {
	for _, w := range warnings {
		t.Warn(w)
	}
}

// program is how a program is run.
type program struct {
	dir  string
	env  []string
	lock *os.File // that holds as long as the program runs, whatever becomes of ours; nil for none
}

// run runs a program in a folder and an environment.
func run(
	ctx context.Context, dir string, env []string, name string, args ...string,
) (string, error) {
	return program{dir: dir, env: env}.run(ctx, name, args...)
}

// afterTerm is how long a program may take to end when it is asked to.
const afterTerm = 2 * time.Second

// run runs a program and returns what it wrote to standard output. Of a failure the error has what
// the program said, without passwords in addresses.
func (p program) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if p.lock != nil {
		cmd.ExtraFiles = []*os.File{p.lock}
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &limited{&said}
	err := child.Run(ctx, cmd, afterTerm)
	var cut *child.Ended
	if errors.As(err, &cut) {
		return "", fault.Wrap(fault.Canceled, "run "+filepath.Base(name), cut.Cause)
	}
	if err == nil {
		return out.String(), nil
	}
	doing := strings.TrimSpace("run " + filepath.Base(name) + " " + first(args))
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "", fault.Wrap(fault.Unavailable, doing, err)
	}
	text := strings.TrimSpace(hide(said.String()))
	if text == "" {
		text = strings.TrimSpace(hide(out.String()))
	}
	return out.String(), fault.New(fault.Unavailable, doing, "%s", last(text))
}

// first returns the first argument of a program, or the module of Python that is run.
func first(args []string) string {
	if len(args) > 1 && args[0] == "-m" {
		return "-m " + args[1]
	}
	return strings.Join(args[:min(1, len(args))], "")
}

// limited keeps the first MiB.
type limited struct{ *bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.Len() < 1<<20 {
		l.Buffer.Write(b)
	}
	return len(b), nil
}

var credentials = pattern.Lazy(`(\w[\w+.-]*://)[^/\s@'"]*@`)

// hide takes passwords out of the addresses in a text.
func hide(text string) string { return credentials().ReplaceAllString(text, "$1") }

// last returns the last lines of a text.
func last(text string) string {
	const limit = 12
	lines := strings.Split(text, "\n")
	if len(lines) > limit {
		lines = lines[len(lines)-limit:]
	}
	return strings.Join(lines, "\n")
}

// writeNew writes a file that is not there yet, with its folders.
func writeNew(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, "write "+path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fault.Wrap(fault.Conflict, "write "+path, err)
	}
	_, err = io.WriteString(f, text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return fault.Wrap(fault.Unavailable, "write "+path, err)
}

// Replace writes a file whole, beside it first. Its mode and owner stay as they are; of a link, the
// file changes that it leads to.
func Replace(path string, text []byte) error {
	doing := "write " + path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0o644) // no secrets
	before, err := os.Stat(path)
	if err == nil {
		mode = before.Mode().Perm()
		if !before.Mode().IsRegular() { // such as /dev/stdout
			return fault.Wrap(fault.Unavailable, doing, os.WriteFile(path, text, mode))
		}
	}
	temporary := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	err = os.WriteFile(temporary, text, mode)
	if err == nil && before != nil {
		err = os.Chmod(temporary, mode)
		if st, ok := before.Sys().(*syscall.Stat_t); ok {
			_ = os.Chown(temporary, int(st.Uid), int(st.Gid)) // only root may, and need not
		}
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // the error is that of writing
	}
	return fault.Wrap(fault.Unavailable, doing, err)
}
