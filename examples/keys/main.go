// Command keys is Southbound with keys::Entry and the transport keys, the example of a pack that
// brings a transport.
package main

import (
	"southbound/examples/keys/handlers/keys"
	"southbound/functions/pack"
	"southbound/handlers"
)

func main() { pack.Main(append(handlers.All(), keys.Entry())) }
