package provider

import "context"

type waitsKey struct{}

// OnWaits returns a context in which Waits calls told. It may be called by several goroutines at
// once.
func OnWaits(ctx context.Context, told func(why string)) context.Context {
	return context.WithValue(ctx, waitsKey{}, told)
}

// Waits tells whoever watches why a transport waits before it tries something again, such as
// "connection refused". It is shown to people while they wait, and kept nowhere.
func Waits(ctx context.Context, why string) {
	if told, ok := ctx.Value(waitsKey{}).(func(string)); ok {
		told(why)
	}
}
