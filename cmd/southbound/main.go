// Command southbound deploys desired state; see the README.
package main

import (
	"os"

	"southbound/handlers"
	"southbound/shared/cli"
)

func main() {
	os.Exit(cli.Main(handlers.All(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
