package input

import (
	"southbound/shared/cli/output"
	"southbound/shared/compile"
	"southbound/shared/diag"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/modtool"
)

// Tool returns the tool for the project or module in the working directory.
func Tool(c *output.Console) *modtool.Tool {
	return &modtool.Tool{
		Dir:  ".",
		Say:  func(format string, args ...any) { c.Say(format, args...) },
		Warn: func(p diag.Problem) { output.ComplainOf(c, p, "warning: ", compile.Lines()) },
		BuiltIn: func(name string) bool {
			return name == "std" || name == "southbound" || name == lsm.Namespace
		},
	}
}
