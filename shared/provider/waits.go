package provider

import "context"

type waitsKey struct{}

// OnWaits returns a context in which Waits calls told. told must be safe for concurrent use.
func OnWaits(ctx context.Context, told func(why string)) context.Context {
	return context.WithValue(ctx, waitsKey{}, told)
}

// Waits reports why a transport waits before it retries, such as "connection refused". People see
// the reason while they wait; it is not stored.
func Waits(ctx context.Context, why string) {
	if told, ok := ctx.Value(waitsKey{}).(func(string)); ok {
		told(why)
	}
}
