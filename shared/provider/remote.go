package provider

import "southbound/shared/schema"

// Programmed is a connection to a program that calls handlers elsewhere.
type Programmed interface {
	// Program identifies it, as deploy.Config.Pack does this one; "" when it is not known.
	Program() string
}

// Remote is what a connection implements that reaches a machine on which this program runs, too:
// handlers of things on a machine run there.
type Remote interface {
	// Handler returns what stands for h, the handler of type t, and forwards its calls to the
	// machine. An error says why there is none; it has a Class. What h has as Canonicaliser,
	// Timeouter and Generator, and, when it is not a Choice, as Differ and InSyncer, is called in
	// this process.
	Handler(t schema.Type, h Handler) (Handler, error)
}
