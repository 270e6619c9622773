// Command southbound deploys desired state; see the README.
package main

import (
	"os"
	"runtime"

	"southbound/shared/cli"
)

// spare is how much the collector of garbage may let pile up before it looks for the first time, in bytes; half of it is held and never touched, so
// it costs addresses and no memory. A short command then hardly collects at all: the check of 10,000 files takes a tenth less.
const spare = 128 << 20

func main() {
	held := make([]byte, spare/2)
	code := cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(held)
	os.Exit(code)
}
