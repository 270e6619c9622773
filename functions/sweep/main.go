// Command sweep is the function that a schedule calls each minute. It finishes interrupted or lost
// work in all environments.
package main

import (
	"southbound/functions/internal/sweep"
	"southbound/handlers"
)

func main() { sweep.Main(handlers.InFunctions()) }
