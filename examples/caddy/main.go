// Command caddy is Southbound with caddy::Site, the example of docs/handlers.md.
package main

import (
	"southbound/examples/caddy/handlers/caddy"
	"southbound/functions/pack"
	"southbound/handlers"
)

func main() { pack.Main(append(handlers.All(), caddy.Site())) }
