// Command sweep is the function that a schedule calls each minute: it does what nobody else is left
// to do, in all environments.
package main

import (
	"southbound/functions/internal/sweep"
	"southbound/handlers"
)

func main() { sweep.Main(handlers.All()) }
