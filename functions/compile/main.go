// Command compile is the function that works on orders of services: it compiles models for
// instances, exports what they become, and tells their lifecycles what became of that.
package main

import (
	"southbound/functions/internal/compile"
	"southbound/handlers"
)

func main() { compile.Main(handlers.All()) }
