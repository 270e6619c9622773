// Command southbound deploys desired state; see the README.
package main

import (
	"os"

	"southbound/handlers"
	"southbound/handlers/tf"
	"southbound/shared/cli"
)

func main() {
	bridge, end := tf.Local()
	code := cli.Main(append(handlers.All(), bridge), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	end()
	os.Exit(code)
}
