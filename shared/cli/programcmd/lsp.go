package programcmd

import (
	"github.com/spf13/cobra"

	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/lang/lsp"
)

// LSPCommand returns the command lsp.
func (c *ProgramCommands) LSPCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lsp", Short: "Run the language server for models",
		Long: "lsp is a language server for models, on standard input and output. It offers " +
			"problems, completion, documentation, definitions, references, renaming, symbols " +
			"and formatting. The types of a project's southbound.lock are read beside its main.cf. " +
			"docs/language/editor.md describes the set-up of editors. The exit " +
			"code is 0 if the editor sent shutdown and exit, and otherwise 1.",
		Example: "  southbound lsp",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			types, err := c.OwnTypes()
			if err != nil {
				return err
			}
			o := lsp.Options{Version: home.Version, Types: types, Log: c.Err}
			orderly, err := lsp.Serve(cmd.Context(), c.Stdin, c.Output(), o)
			if !orderly {
				c.Code = output.Fault
			}
			return fault.Wrap(fault.Unavailable, "serve the editor", err)
		}}
}
