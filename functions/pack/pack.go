// Package pack makes programs with handlers of their own: one that is the command line on a
// machine, and each of the functions in Lambda.
//
//	func main() { pack.Main(handlers.All()) }
package pack

import (
	"os"
	"path"

	"southbound/functions/internal/api"
	"southbound/functions/internal/compile"
	"southbound/functions/internal/export"
	"southbound/functions/internal/handler"
	"southbound/functions/internal/log"
	"southbound/functions/internal/sweep"
	"southbound/shared/cli"
	"southbound/shared/provider"
)

// EnvFunction names the environment variable that says which function the program is in Lambda:
// api, compile, export, handler, log or sweep. Without it the function's Handler says so, as in
// `Handler: export`; any other is the handler function.
const EnvFunction = "SOUTHBOUND_FUNCTION"

// Main is the main function of a program with these types and handlers, and no others: handlers.All
// of this module returns those that it has. It does not return.
func Main(definitions []provider.Definition) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		os.Exit(cli.Main(definitions, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	function(os.Getenv)(definitions)
}

// function returns what the program is in Lambda.
func function(getenv func(string) string) func([]provider.Definition) {
	name := getenv(EnvFunction)
	if name == "" {
		name = path.Base(getenv("_HANDLER"))
	}
	switch name {
	case "api":
		return api.Main
	case "compile":
		return compile.Main
	case "export":
		return export.Main
	case "log":
		return log.Main
	case "sweep":
		return sweep.Main
	}
	return handler.Main
}
