// Package remote runs handlers on another machine. A transport that can run a command there starts
// this program. The engine's calls of a handler go to that program, and the answers return, over
// its standard input and output. A handler does not notice this: it acts on the machine on which it
// runs. docs/design/remote.md explains the design.
//
// Open makes a connection over a Starter, which is all that a transport has to implement; Machine
// keeps one. Handler makes the handlers that stand for those on the machine. Server is the other
// end, which the hidden command `southbound remote` runs.
package remote
