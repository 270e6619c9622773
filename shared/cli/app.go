// Package cli is the command line. It holds the tree of commands and runs them. The commands are in
// the packages below it; docs/design/cli.md has their purposes.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"

	"southbound/shared/child"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/parts"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/transport"
	"southbound/shared/transport/remote"
)

// Version is the version of this program.
const Version = home.Version

// Main runs a program with the types of definitions and with arguments, and returns its exit code.
func Main(
	definitions []provider.Definition, args []string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	ctx, stop := signal.NotifyContext(context.Background(), home.StopSignals()...)
	defer stop()
	a := parts.New(&output.Console{Stdin: stdin, Out: stdout, Err: stderr}, &home.Location{},
		&home.Program{Definitions: definitions})
	ctx = child.With(ctx, &a.Children.Table)
	a.Grace, _ = home.GraceOf() // opening a home reports an invalid grace period
	defer a.Watch(ctx)()
	a.Conns.SSH.Programs = &remote.Programs{Dir: os.Getenv("SOUTHBOUND_PROGRAMS")}
	cmd := root(a)
	cmd.SetArgs(args)
	var err error
	if a.Packs, err = transport.BroughtBy(a.Definitions); err == nil {
		err = cmd.ExecuteContext(ctx)
	}
	a.Close()
	if a.Lost != nil && (err == nil || errors.Is(err, a.Lost)) {
		err = fault.Wrap(fault.Unavailable, "write to standard output", a.Lost)
	}
	if err != nil {
		// parsing stops at a wrong flag and skips the flags after it
		a.JSON = a.JSON || slices.Contains(args, "--json")
		return a.Fail(err)
	}
	return a.Code
}
