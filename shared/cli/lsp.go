package cli

import (
	"github.com/spf13/cobra"

	"southbound/shared/fault"
	"southbound/shared/lang/lsp"
)

func (c *programCommands) lspCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lsp", Short: "Serve an editor of models on standard input and output",
		Long: "lsp is a language server for models: an editor starts it, and asks it for " +
			"problems, completion,\ndocumentation, definitions, references, names to change, " +
			"symbols and the form of a text.\ndocs/language/editor.md says how editors are set " +
			"up. The exit code is 0 when the editor has said\nshutdown and exit, and otherwise 1.",
		Example: "  southbound lsp",
		Args:    exactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			types, err := c.registry()
			if err != nil {
				return err
			}
			o := lsp.Options{Version: Version, Types: types, Log: c.err}
			orderly, err := lsp.Serve(cmd.Context(), c.stdin, c.output(), o)
			if !orderly {
				c.code = exitFault
			}
			return fault.Wrap(fault.Unavailable, "serve the editor", err)
		}}
}
