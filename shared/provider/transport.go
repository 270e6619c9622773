package provider

import (
	"context"
	"time"

	"southbound/shared/schema"
)

// Transport is a way to reach agents that a pack adds to the built-in ones: `transport: NAME` in
// documents. A pack declares it beside a type that is reached over it, in Definition.Transport;
// several types may share one, by the same pointer.
type Transport struct {
	// Name is the name in documents: small letters, digits, - and _. The names of built-in
	// transports are reserved.
	Name        string
	Description string
	// Options are the options of an agent besides transport and lanes: names, data types,
	// descriptions and defaults, and no behaviour. An option without Optional or a default is
	// required. For Sensitive[T], documents have to name a secret. Options are checked when
	// documents are, and again when references are resolved.
	Options []schema.Attribute
	// Connect opens the connection of an agent, which Context.Transport returns to handlers.
	// Options have their defaults, and references are resolved. An error is a fault: Unavailable if
	// the target does not respond, Denied if the login is refused. A connection may implement
	// Verifier, FactSource, ReadOnly, and io.Closer, which is called after a run. Connect and the
	// connection must be safe for concurrent use. The connection ends when ctx does.
	Connect func(ctx context.Context, agent string, options map[string]any) (any, error)
	// Limit is the longest time that Connect may take; 0: ten seconds.
	Limit time.Duration
	// Runner is set if no function of the AWS home connects: `southbound agent run` serves the agents,
	// because connections need programs of a machine, or calls last longer than an invocation.
	Runner bool
}
