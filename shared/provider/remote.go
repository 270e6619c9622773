package provider

import "southbound/shared/schema"

// Remote is what a connection implements that reaches a machine on which this program runs, too: handlers of things on a machine run there.
type Remote interface {
	// Handler returns what stands for h, the handler of type t, and forwards its calls to the machine. An error says why there is none; it has a
	// Class. The answer implements Forwarder.
	Handler(t schema.Type, h Handler) (Handler, error)
}

// Forwarder is a handler that stands for another one. It has the methods of all optional interfaces, and means only those that the other
// has, so As is to be asked which.
type Forwarder interface {
	Handler
	// Behind returns the handler that it stands for.
	Behind() Handler
}

// As returns h as one of the optional interfaces, and whether it is one. It is used in place of a type assertion, which takes a Forwarder for
// more than it is.
func As[T any](h Handler) (T, bool) {
	if f, ok := h.(Forwarder); ok {
		if _, has := f.Behind().(T); !has {
			var none T
			return none, false
		}
	}
	t, ok := h.(T)
	return t, ok
}
