// Command handler is the function behind the queues of agents: it runs what is scheduled in the
// lanes that were notified. A plain invoke compares a version or an export with reality, for the
// API function, which has no handlers.
package main

import (
	"southbound/functions/internal/handler"
	"southbound/handlers"
)

func main() { handler.Main(handlers.All()) }
