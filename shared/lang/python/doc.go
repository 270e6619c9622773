// Package python runs the Python code of modules in a process of the project's own virtual
// environment, with the library that modules import. docs/design/python.md describes it.
//
//	host.go     the process: its start, its end, its limits
//	memory.go   how much it may hold
//	processes.go  what it has started, and how that ends
//	pack.go     processes for handlers, and what a process is told of them in handler.go
//	wire.go     frames and values
//	plugins.go  plugins of modules as those of the program, and their calls
//	answer.go   what Python code asks of the model
//	inventory.go  what the module lsm in Python asks of the inventory
//	export.go   resource classes: from instances to resources
//	host/       the program that runs in the process
package python
