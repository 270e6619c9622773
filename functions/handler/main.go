// Command handler is the function behind the queues of agents. It runs the scheduled resources of
// the lanes that were notified. An asynchronous invoke with a job compares a version or an export
// with reality, for the API function, which has no handlers.
package main

import (
	"southbound/functions/internal/handler"
	"southbound/handlers"
)

func main() { handler.Main(handlers.InFunctions()) }
