// Command export is the function that stores versions. The CLI calls it by its URL, and pipelines
// call it with an archive in S3.
package main

import (
	"southbound/functions/internal/export"
	"southbound/handlers"
)

func main() { export.Main(handlers.InFunctions()) }
