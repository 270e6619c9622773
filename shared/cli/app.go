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
	"syscall"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/transport"
	"southbound/shared/transport/remote"
)

// Version is the version of this program.
const Version = "0.1.0"

// The exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitFault       = 1
	exitInput       = 2
	exitUnhealthy   = 3
	exitTimeout     = 4
	exitChanges     = 5
	exitInterrupted = 130
)

// app is one run of the program: the parts that its commands share. root gives each command the
// parts that it needs.
type app struct {
	*console
	*location
	*program
	*session
	docs    *documents
	waiter  *waiter
	results *results
	waves   *waves
	actions *actionPrinter
	orders  *orderServer
}

// newApp creates an app and connects its parts.
func newApp(c *console, l *location, p *program) *app {
	d := &documents{console: c, location: l, program: p}
	s := &session{
		console: c, location: l, program: p, docs: d, conns: &connections{program: p},
	}
	w := &waiter{console: c, location: l, session: s}
	return &app{
		console: c, location: l, program: p, session: s, docs: d, waiter: w,
		results: &results{console: c, location: l, session: s, docs: d},
		waves:   &waves{console: c, location: l, session: s, waiter: w},
		actions: &actionPrinter{console: c, location: l, session: s},
		orders:  &orderServer{console: c, location: l, session: s, program: p},
	}
}

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
	root := a.root()
	root.SetArgs(args)
	var err error
	if a.packs, err = transport.BroughtBy(a.definitions); err == nil {
		err = root.ExecuteContext(ctx)
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

// stopSignals are the signals that ask the program to stop. Under nohup, a closed terminal does not
// stop the program. An interrupt stops it even if the signal is initially ignored, as in the
// background of a script: scripts send it to such programs.
func stopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
