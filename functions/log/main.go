// Command log is the log function: it takes batches from the log queue and stores what lanes have
// committed so that it can be found. See docs/design/log.md.
package main

import (
	"southbound/functions/internal/log"
	"southbound/handlers"
)

func main() { log.Main(handlers.All()) }
