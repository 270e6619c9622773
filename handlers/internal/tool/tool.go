// Package tool runs the programs that handlers of things on a machine are made of.
package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	mostOutput = 64 << 20 // bytes of standard output that are kept: lists of all packages are long
	mostError  = 4 << 10  // bytes of what a program says when it fails that are kept: the last ones
	// afterKill is how long the output of a program that was ended is waited for: its children may hold it open.
	afterKill = 2 * time.Second
)

// Run runs a program without a shell, in the C locale, with nothing to read, and returns its standard output. env is added to the
// environment. What fails is an *Error; a call that is cut off is Retryable.
func Run(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // running programs is what it is for
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "LANG=C", "LANGUAGE="), env...)
	cmd.WaitDelay = afterKill
	out, says := &capped{most: mostOutput}, &capped{most: mostError, last: true}
	cmd.Stdout, cmd.Stderr = out, says
	own(cmd)
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	e := &Error{Program: argv[0], Code: -1, Output: out.String(), Says: strings.TrimSpace(says.String()), err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		e.Code = exit.ExitCode()
	}
	if ctx.Err() != nil {
		e.err = ctx.Err()
	}
	return e.Output, e
}

// Error is a program that failed.
type Error struct {
	Program string
	Code    int    // its exit code; -1: it did not run, or was ended
	Output  string // its standard output
	Says    string // the end of its standard error
	err     error
}

// Error names the program, how it ended, and what it said last.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %v", e.Program, e.err)
	says := e.Says
	if says == "" {
		says = strings.TrimSpace(e.Output)
	}
	if i := len(says) - 1000; i > 0 {
		says = "… " + strings.ToValidUTF8(says[i:], "")
	}
	if says != "" {
		text += ": " + says
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

// capped keeps the first bytes that are written to it, or the last.
type capped struct {
	bytes.Buffer
	most int
	last bool
}

// Write implements io.Writer; it never fails.
func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	if !c.last {
		p = p[:min(len(p), c.most-c.Len())]
	}
	_, _ = c.Buffer.Write(p)
	if over := c.Len() - c.most; c.last && over > 0 {
		c.Next(over)
	}
	return n, nil
}
