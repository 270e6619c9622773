// Package pack builds programs with custom handlers. The same program is the command line on a
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

// EnvFunction is the name of the environment variable with the function that the program is in
// Lambda: api, compile, export, handler, log or sweep. If it is not set, the function's Handler is
// used, as in `Handler: export`. Any other value means the handler function.
const EnvFunction = "SOUTHBOUND_FUNCTION"

// Main is the main function of a program with only these types and handlers; handlers.All returns
// the types of this module. Main does not return in Lambda, and on a machine it exits the process.
func Main(definitions []provider.Definition) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		os.Exit(cli.Main(definitions, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	function(os.Getenv)(definitions)
}

// function returns the main function of the program in Lambda.
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
