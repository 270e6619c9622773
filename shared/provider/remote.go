package provider

import "southbound/shared/schema"

// Programmed is a connection to a program that calls handlers on another machine.
type Programmed interface {
	// Program identifies the program, as deploy.Config.Pack does this one; "" if it is unknown.
	Program() string
}

// Remote is implemented by a connection to a machine on which this program also runs: handlers of
// things on a machine run there.
type Remote interface {
	// Handler returns a handler that stands for h, the handler of type t, and forwards its calls to
	// the machine. The error has a Class. These interfaces of h are called in this process:
	// Canonicaliser, Timeouter and Generator, and, if h is not a Choice, Differ and InSyncer.
	Handler(t schema.Type, h Handler) (Handler, error)
}
