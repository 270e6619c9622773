// Command southbound deploys desired state; see the README.
package main

import (
	"os"

	"southbound/shared/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
