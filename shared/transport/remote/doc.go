// Package remote runs handlers on a machine elsewhere: this program is started there, by whatever
// can run a command on it, and what the engine wants of a handler goes to that program and back
// over its standard input and output. A handler does not know about it: it acts on the machine on
// which it runs. docs/design/remote.md says how and why.
//
// Open makes a connection over a Starter, which is all that a transport has to implement; Machine
// keeps one. Handler makes the handlers that stand for those on the machine. Server is the other
// end, which the hidden command `southbound remote` runs.
package remote
