package cli

import (
	"github.com/spf13/cobra"

	"southbound/shared/fault"
	"southbound/shared/lang/lsp"
)

func (c *programCommands) lspCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lsp", Short: "Run the language server for models",
		Long: "lsp is a language server for models, on standard input and output. It offers " +
			"problems, completion, documentation, definitions, references, renaming, symbols " +
			"and formatting. docs/language/editor.md describes the set-up of editors. The exit " +
			"code is 0 if the editor sent shutdown and exit, and otherwise 1.",
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
