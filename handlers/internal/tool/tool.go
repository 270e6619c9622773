// Package tool runs the programs with which handlers manage things on a machine.
package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"southbound/shared/child"
)

const (
	maxOutput = 64 << 20 // bytes of standard output that are kept: lists of all packages are long
	maxError  = 4 << 10  // bytes kept of a failing program's output: the last ones
	// afterTerm is how long a program may take to end after SIGTERM.
	afterTerm = 2 * time.Second
)

// Run runs a program without a shell, in the C locale, with empty input, and returns its standard
// output. env is added to the inherited variables, see handedOn. A failure is an *Error; an
// interrupted call is Retryable.
func Run(ctx context.Context, env []string, argv ...string) (string, error) {
	return RunAs(ctx, nil, env, argv...)
}

// RunAs is Run as another user; nil is the user of this process. Another user's program does not
// receive variables of this process's user, such as its home or its credentials. It starts in the
// root directory, as the other user may not have access to the working directory of this process.
func RunAs(ctx context.Context, as *User, env []string, argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(handedTo(as), "LC_ALL=C", "LANG=C", "LANGUAGE="), env...)
	if as != nil {
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as.credential()}
	}
	out, stderr := &capped{limit: maxOutput}, &capped{limit: maxError, last: true}
	cmd.Stdout, cmd.Stderr = out, stderr
	err := child.Run(ctx, cmd, afterTerm)
	if err == nil && out.cut {
		err = fmt.Errorf("it wrote more than %d MiB, which is not read further", maxOutput>>20)
	}
	if err == nil {
		return out.String(), nil
	}
	e := &Error{Program: argv[0], Code: -1, Stderr: stderr.end(), err: err}
	e.Output, e.cut = out.String(), out.cut
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		e.Code = exit.ExitCode()
	}
	var cut *child.Ended
	if errors.As(err, &cut) {
		e.err = cut.Cause
	}
	return e.Output, e
}

// Error is a program that failed.
type Error struct {
	Program string
	Code    int    // its exit code; -1: it did not run, was ended, or wrote too much
	Output  string // its standard output
	// Stderr is the end of its standard error. If there was more text before it, it begins with an
	// ellipsis, which shows redaction that the text may begin in the middle of a secret.
	Stderr string
	err    error
	cut    bool // Output is truncated
}

// Error names the program, how it ended, and its last output.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %v", e.Program, e.err)
	if last := Tail(e.LastOutput(), 1000); last != "" {
		text += ": " + last
	}
	return text
}

// LastOutput returns the last output of the program: of standard error, else of standard output. An
// ellipsis marks truncation.
func (e *Error) LastOutput() string {
	last := e.Stderr
	if last == "" {
		last = strings.TrimSpace(e.Output)
		if e.cut {
			last = strings.ToValidUTF8(last, "") + " …"
		}
	}
	return last
}

// Tail returns the last bytes of a text, at most so many, after an ellipsis if it was truncated.
func Tail(text string, limit int) string {
	if over := len(text) - limit; over > 0 {
		return "… " + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Code returns the exit code of a program that failed, -1 for any other error.
func Code(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return -1
}

// capped keeps the first written bytes, or the last. It must not embed its Buffer: io.Copy would
// bypass Write through the Buffer's ReadFrom, and the size would not be limited.
type capped struct {
	kept  bytes.Buffer
	limit int
	last  bool
	cut   bool // the text was truncated
}

// String returns the kept text.
func (c *capped) String() string { return c.kept.String() }

// end returns the kept end of a text, after an ellipsis if there was more.
func (c *capped) end() string {
	if c.cut {
		return "… " + strings.TrimSpace(strings.ToValidUTF8(c.String(), ""))
	}
	return strings.TrimSpace(c.String())
}

// Write implements io.Writer; it never fails.
func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	if room := c.limit - c.kept.Len(); !c.last && n > room {
		p, c.cut = p[:room], true
	}
	_, _ = c.kept.Write(p)
	if over := c.kept.Len() - c.limit; c.last && over > 0 {
		c.kept.Next(over)
		c.cut = true
	}
	return n, nil
}
