package usage

import (
	"github.com/spf13/cobra"

	"southbound/shared/api"
)

// MessageFlag adds the flag --message to a command that the audit records, and returns the command.
// Requests of the command carry the message.
func MessageFlag(cmd *cobra.Command) *cobra.Command {
	text, run := "", cmd.RunE
	cmd.Flags().StringVar(&text, "message", "", "reason, which southbound audit shows")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := api.CheckMessage(text); err != nil {
			return err
		}
		if text != "" {
			cmd.SetContext(api.WithMessage(cmd.Context(), text))
		}
		return run(cmd, args)
	}
	return cmd
}
