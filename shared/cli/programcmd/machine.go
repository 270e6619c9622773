package programcmd

import (
	"github.com/spf13/cobra"

	"southbound/shared/cli/home"
	"southbound/shared/cli/usage"
	"southbound/shared/transport"
)

// MachineCommand is the remote end of the transports that reach machines. Users do not call it.
func (c *ProgramCommands) MachineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   transport.MachineArgument,
		Short: "Call handlers on this machine for an engine elsewhere", Hidden: true,
		Args:    usage.ExactArgs(0, "no arguments"),
		Example: "  southbound remote",
		Long: "remote is started by the transport ssh and speaks with it over standard input " +
			"and output.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return transport.ServeMachine(cmd.Context(), c.Definitions, home.Version, c.Stdin, c.Out)
		},
	}
}
