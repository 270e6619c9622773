// Package cli is the command line. It reads arguments, opens a home (the engine in this process, or
// a server), and writes output for people or for programs.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/transport"
	"southbound/shared/transport/remote"
)

// Main runs a program with the types of definitions and with arguments, and returns its exit code.
func Main(
	definitions []provider.Definition, args []string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	a := newApp(&console{stdin: stdin, out: stdout, err: stderr}, &location{},
		&program{definitions: definitions})
	ctx = child.With(ctx, &a.children.Table)
	a.grace, _ = graceOf() // opening a home reports an invalid grace period
	defer a.watch(ctx)()
	a.conns.ssh.Programs = &remote.Programs{Dir: os.Getenv("SOUTHBOUND_PROGRAMS")}
	cmd := root(a)
	cmd.SetArgs(args)
	var err error
	if a.packs, err = transport.BroughtBy(a.definitions); err == nil {
		err = cmd.ExecuteContext(ctx)
	}
	a.close()
	if a.lost != nil && (err == nil || errors.Is(err, a.lost)) {
		err = fault.Wrap(fault.Unavailable, "write to standard output", a.lost)
	}
	if err != nil {
		// parsing stops at a wrong flag and skips the flags after it
		a.json = a.json || slices.Contains(args, "--json")
		return a.fail(err)
	}
	return a.code
}
