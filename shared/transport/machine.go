package transport

import (
	"context"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strconv"
	"syscall"

	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/transport/remote"
)

// ServeMachine is the other end of transports that reach machines: it calls handlers here for an
// engine elsewhere until in ends or the process receives a signal. See remote.Server. The parameter
// version is the program's version. A program that is installed on machines calls ServeMachine if
// its only argument is MachineArgument.
func ServeMachine(ctx context.Context, definitions []provider.Definition, version string,
	in io.Reader, out io.Writer) error {
	// A closed pipe is an error of the write; it must not end the process before handlers have
	// ended the processes they started.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	s := &remote.Server{Definitions: definitions, Version: version, Facts: machineFacts(),
		Transport: Local{}}
	return s.Serve(ctx, in, out)
}

// MachineArgument is the argument that starts a program as the remote end on a machine.
const MachineArgument = "remote"

// machineFacts describe this machine for the other end.
func machineFacts() map[string]string {
	facts := provider.MachineFacts()
	facts[remote.FactProgram] = platform.Build()
	if name, err := os.Hostname(); err == nil {
		facts["hostname"] = name
	}
	facts["user"] = strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		facts["user"] = u.Username
	}
	return facts
}
