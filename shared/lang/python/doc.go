// Package python runs the Python code of modules in a process of the project's own virtual
// environment, with the library that modules import. docs/design/python.md describes it.
//
//	host.go       the process: its start, its end, its limits
//	process.go    the pipes, the guard and the end of a process
//	memory.go     the memory limit
//	moment.go     times to which the guard compares daemons
//	conversation.go  messages to the process and its answers
//	wire.go, parse.go  frames and values
//	plugins.go    plugins of modules as plugins of the program, and their calls
//	answer.go     questions of Python code about the model
//	inventory.go  questions of the Python module lsm about the inventory
//	export.go     resource classes: from instances to resources
//	pack.go       processes for handlers; handler.go has the messages to them
//	session.go    tests in Python
//	sources.go    places in the code of modules, for messages
//	host/         the program that runs in the process
package python
