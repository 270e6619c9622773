package cli

import (
	"os"
	"os/signal"
	"os/user"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"southbound/shared/provider"
	"southbound/shared/transport"
	"southbound/shared/transport/remote"
)

// machineCommand is the other end of transports that reach machines: nobody calls it by hand.
func (a *app) machineCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remote", Short: "Call handlers on this machine for an engine elsewhere", Hidden: true, Args: exactArgs(0, "no arguments"),
		Example: "  southbound remote",
		Long:    "remote is started by the transport ssh and speaks with it over standard input and output.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			// A pipe that nobody reads any more is an error of the write, and not the end before handlers have ended what they started.
			pipe := make(chan os.Signal, 1)
			signal.Notify(pipe, syscall.SIGPIPE)
			defer signal.Stop(pipe)
			s := &remote.Server{Definitions: a.with, Version: Version, Facts: machineFacts(), Transport: transport.Local{}}
			return s.Serve(cmd.Context(), a.stdin, a.out)
		},
	}
}

// machineFacts describe this machine to the other end.
func machineFacts() map[string]string {
	facts := provider.MachineFacts()
	if name, err := os.Hostname(); err == nil {
		facts["hostname"] = name
	}
	facts["user"] = strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		facts["user"] = u.Username
	}
	return facts
}
