package remote

import (
	"context"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// chooses reports whether the handler is a Choice, whose provider the machine selects.
func (f *forwarder) chooses() bool {
	_, ok := f.h.(*provider.Choice)
	return ok
}

// Diff implements provider.Differ: in this process, as it does not read the machine; on the
// machine, if the machine selects the provider that compares, or has a carried value.
func (f *forwarder) Diff(
	ctx *provider.Context, desired provider.Resource, seen provider.Observation,
) (map[string]diff.Diff, error) {
	if _, far := seen.Carried.(carriedFar); far || f.chooses() {
		it := itemOf(ctx, desired)
		it.Observed = observedBy(seen)
		a, err := f.one(ctx, callDiff, it)
		if a == nil {
			return nil, err
		}
		return a.Changes, err
	}
	if d, ok := provider.As[provider.Differ](f.h); ok {
		return d.Diff(ctx, desired, seen)
	}
	return nil, provider.Errorf(provider.Terminal, "%s does not implement InSyncer", f.typ.Name)
}

// InSync implements provider.InSyncer, in the same place as Diff.
func (f *forwarder) InSync(
	ctx *provider.Context, attribute string, desired, seen any,
) (provider.Verdict, error) {
	if f.chooses() {
		it := itemOf(ctx, ctx.Desired())
		it.Changes = map[string]diff.Diff{attribute: {Current: seen, Desired: desired}}
		a, err := f.one(ctx, callInSync, it)
		if err != nil || a.Verdict == nil {
			return provider.Verdict{}, err
		}
		return provider.Verdict{Sync: a.Verdict.Sync, Why: a.Verdict.Why}, nil
	}
	if s, ok := provider.As[provider.InSyncer](f.h); ok {
		return s.InSync(ctx, attribute, desired, seen)
	}
	return provider.Verdict{}, nil
}

// Noop implements provider.Nooper.
func (f *forwarder) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	_, err := f.one(ctx, callNoop, changeOf(planned))
	return err
}

// Flush implements provider.Flusher.
func (f *forwarder) Flush(ctx context.Context, done []provider.BatchChange) error {
	send, ctxs := make([]item, len(done)), make([]*provider.Context, len(done))
	for i, b := range done {
		send[i], ctxs[i] = changeOf(b), b.Context
	}
	_, err := f.do(ctx, callFlush, send, ctxs)
	return err
}

// List implements provider.Lister: all things are found before the first call of tell.
func (f *forwarder) List(ctx *provider.Context, yield func(provider.Found) error) error {
	it := itemOf(ctx, ctx.Desired())
	it.ID = string(ctx.ID())
	it.Agent = ctx.ID().Agent()
	p, err := f.ask(ctx, callList, []item{it}, []*provider.Context{ctx})
	if err != nil {
		return err
	}
	for _, attributes := range p.found {
		if err := yield(provider.Found{Attributes: attributes}); err != nil {
			return err
		}
	}
	if len(p.answers) != 1 {
		return provider.Errorf(provider.Retryable, "the program on the machine did not answer")
	}
	return p.answers[0].Err.err()
}

func changeOf(b provider.BatchChange) item {
	it := itemOf(b.Context, b.Resource)
	it.Change, it.Changes, it.Token = b.Change, b.Changes, b.Token
	it.Observed = observedBy(b.Observed)
	return it
}
