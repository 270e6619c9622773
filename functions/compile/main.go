// Command compile is the function that processes orders of services. It compiles models for
// instances, exports the resulting resources, and reports the outcome to the lifecycles of the
// instances.
package main

import (
	"southbound/functions/internal/compile"
	"southbound/handlers"
)

func main() { compile.Main(handlers.InFunctions()) }
