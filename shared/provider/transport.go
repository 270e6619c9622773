package provider

import (
	"context"
	"time"

	"southbound/shared/schema"
)

// Transport is a way to reach agents that a pack brings, beside those that every program has:
// `transport: NAME` in documents. A pack declares it beside a type that is reached over it, in
// Definition.Transport; several types may share one, by the same pointer.
type Transport struct {
	// Name is what documents call it: small letters, digits, - and _. The names of transports
	// that every program has are taken.
	Name        string
	Description string
	// Options are what an agent may say beside transport and lanes: names, data types,
	// descriptions and defaults, and no behaviour. An option without Optional or a default has to
	// be given. For Sensitive[T] documents have to name a secret. They are checked when documents
	// are, and again when references are resolved.
	Options []schema.Attribute
	// Connect opens the connection of an agent; it is what Context.Transport returns to handlers.
	// Options have their defaults, and references are resolved. An error is a fault: Unavailable
	// when nobody is there, Denied when the login is refused. A connection may implement Verifier,
	// FactSource, ReadOnly, and io.Closer, which is called when a run is over. Connect may be
	// called by several goroutines, and so may a connection. It ends when ctx does.
	Connect func(ctx context.Context, agent string, options map[string]any) (any, error)
	// Limit is the longest that Connect may take; 0: ten seconds.
	Limit time.Duration
}
