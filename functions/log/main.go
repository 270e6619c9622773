// Command log is the log function. It receives batches from the log queue, and stores committed
// actions and parameters in the searchable log. See docs/design/log.md.
package main

import (
	"southbound/functions/internal/log"
	"southbound/handlers"
)

func main() { log.Main(handlers.InFunctions()) }
