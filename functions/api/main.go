// Command api is the function behind the URL of the HTTP API.
package main

import (
	"southbound/functions/internal/api"
	"southbound/handlers"
)

func main() { api.Main(handlers.InFunctions()) }
