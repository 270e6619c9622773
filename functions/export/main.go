// Command export is the function that stores versions: for the CLI behind its URL, and for
// pipelines with an archive in S3.
package main

import (
	"southbound/functions/internal/export"
	"southbound/handlers"
)

func main() { export.Main(handlers.All()) }
