// Package modtool implements the commands project and module: it creates, installs, lists, freezes,
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

// Tool operates on the project or module in a folder.
type Tool struct {
	Dir string
	// Say prints a line about a completed step.
	Say func(format string, args ...any)
	// Warn prints a warning.
	Warn func(diag.Problem)
	// BuiltIn reports whether a module is part of the program, and is not installed.
	BuiltIn func(name string) bool
}

// folder returns the working folder of the tool.
func (t *Tool) folder() folder { return folder{dir: t.Dir, warn: t.warn, builtIn: t.BuiltIn} }

func (t *Tool) warn(warnings diag.Problems) {
	for _, w := range warnings {
		t.Warn(w)
	}
}

// program is the setting in which a child process runs.
type program struct {
	dir  string
	env  []string
	lock *os.File // the child inherits it and so keeps it locked if this process dies; nil for none
}

// run runs a program in a folder with the given environment variables.
func run(
	ctx context.Context, dir string, env []string, name string, args ...string,
) (string, error) {
	return program{dir: dir, env: env}.run(ctx, name, args...)
}

// afterTerm is how long a program may take to exit after SIGTERM.
const afterTerm = 2 * time.Second

// run runs a program and returns its standard output. If the program fails, the error contains its
// standard error, without passwords in addresses.
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

// first returns the first argument of a program, or the Python module after -m.
func first(args []string) string {
	if len(args) > 1 && args[0] == "-m" {
		return "-m " + args[1]
	}
	return strings.Join(args[:min(1, len(args))], "")
}

// limited keeps about the first MiB.
type limited struct{ *bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.Len() < 1<<20 {
		l.Buffer.Write(b)
	}
	return len(b), nil
}

var credentials = pattern.Lazy(`(\w[\w+.-]*://)[^/\s@'"]*@`)

// hide removes passwords from the addresses in a text.
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

// writeNew creates a file, which must not exist yet, and its folders.
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

// Replace writes a file atomically, through a temporary file next to it. The mode and the owner
// stay unchanged. If path is a symbolic link, Replace changes its target.
func Replace(path string, text []byte) error {
	doing := "write " + path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0o644) // the file holds no secrets
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
			_ = os.Chown(temporary, int(st.Uid), int(st.Gid)) // only root can change it
		}
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // the error of the write is returned
	}
	return fault.Wrap(fault.Unavailable, doing, err)
}
