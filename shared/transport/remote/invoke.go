package remote

import (
	"context"
	"fmt"

	"southbound/shared/fault"
	"southbound/shared/provider"
)

// invoke calls a method of a handler for requests.
func invoke(ctx context.Context, h provider.Handler, m method, reqs []request) ([]answer, error) {
	switch m {
	case callReadBatch:
		return readBatch(ctx, h, reqs)
	case callApplyBatch:
		return applyBatch(ctx, h, reqs)
	case callFlush:
		return flush(ctx, h, reqs)
	}
	out := make([]answer, len(reqs))
	for i := range reqs {
		if err := one(h, m, &reqs[i], &out[i]); err != nil {
			out[i] = answer{Err: failureOf(err)}
		}
	}
	return out, nil
}

// one calls a method for one resource.
func one(h provider.Handler, m method, r *request, a *answer) error {
	var result provider.Result
	var err error
	switch m {
	case callRead:
		var obs provider.Observation
		obs, err = h.Read(r.ctx, provider.ReadRequest{Resource: r.res})
		a.Observed = observedOf(obs)
	case callCreate:
		result, err = h.Create(r.ctx, provider.CreateRequest{Resource: r.res, Token: r.Token,
			Carried: r.Observed.observation().Carried})
	case callUpdate:
		result, err = h.Update(r.ctx, provider.UpdateRequest{Resource: r.res,
			Observed: r.Observed.observation(), Changes: r.Changes})
	case callDelete:
		result, err = h.Delete(r.ctx, provider.DeleteRequest{Resource: r.res,
			Observed: r.Observed.observation()})
	default:
		return optional(h, m, r, a)
	}
	a.Again = againOf(result)
	return err
}

// optional calls a method that not every handler has.
func optional(h provider.Handler, m method, r *request, a *answer) error {
	read := provider.ReadRequest{Resource: r.res}
	var err error
	switch m {
	case callReload:
		if l, ok := provider.As[provider.Reloader](h); ok {
			return l.Reload(r.ctx, read)
		}
	case callFacts:
		if f, ok := provider.As[provider.FactReader](h); ok {
			facts, err := f.Facts(r.ctx, read)
			a.Facts = sendable(r.ctx, facts)
			return err
		}
	case callFind:
		if f, ok := provider.As[provider.Finder](h); ok {
			a.Found, err = f.FindCreated(r.ctx,
				provider.CreateRequest{Resource: r.res, Token: r.Token})
			return err
		}
	case callNoop:
		if n, ok := provider.As[provider.Nooper](h); ok {
			return n.Noop(r.ctx, r.change())
		}
	case callDiff:
		if d, ok := provider.As[provider.Differ](h); ok {
			a.Changes, err = d.Diff(r.ctx, r.res, r.Observed.observation())
			for name, d := range a.Changes {
				d.Current, d.Desired = provider.Observed(d.Current), provider.Observed(d.Desired)
				a.Changes[name] = d
			}
			return err
		}
	case callInSync:
		if s, ok := provider.As[provider.InSyncer](h); ok {
			for name, d := range r.Changes { // there is exactly one
				var v provider.Verdict
				v, err = s.InSync(r.ctx, name, d.Desired, d.Current)
				a.Verdict = &verdict{v.Sync, v.Why}
			}
			return err
		}
	}
	return fmt.Errorf("the handler there cannot do %q: %w", m, errMethod)
}

// errMethod is an invalid call of the other end.
var errMethod = fault.New(fault.Unsupported, "", "the two programs differ")

// observedOf makes a handler's observation safe to send: encoding a cyclic value would crash this
// program.
func observedOf(o provider.Observation) *observed {
	return &observed{Exists: o.Exists, Attributes: provider.ObservedAll(o.Attributes), Mark: o.Mark,
		carried: o.Carried}
}

func againOf(r provider.Result) *again {
	if r.Again == nil {
		return nil
	}
	return &again{r.Again.After, r.Again.State}
}

func readBatch(ctx context.Context, h provider.Handler, reqs []request) ([]answer, error) {
	b, ok := provider.As[provider.BatchReader](h)
	if !ok {
		return nil, errMethod
	}
	items := make([]provider.BatchRead, len(reqs))
	for i, r := range reqs {
		items[i] = provider.BatchRead{Context: r.ctx,
			ReadRequest: provider.ReadRequest{Resource: r.res}}
	}
	readings := b.ReadBatch(ctx, items)
	out := make([]answer, len(readings))
	for i, r := range readings {
		out[i] = answer{Observed: observedOf(r.Observation), Err: failureOf(r.Err)}
	}
	return out, nil
}

func applyBatch(ctx context.Context, h provider.Handler, reqs []request) ([]answer, error) {
	b, ok := provider.As[provider.BatchApplier](h)
	if !ok {
		return nil, errMethod
	}
	items := make([]provider.BatchChange, len(reqs))
	for i := range reqs {
		items[i] = reqs[i].change()
	}
	applied := b.ApplyBatch(ctx, items)
	out := make([]answer, len(applied))
	for i, a := range applied {
		out[i] = answer{Again: againOf(a.Result), Err: failureOf(a.Err)}
	}
	return out, nil
}

// flush calls a handler's Flusher with the applied changes. Its error applies to all of them.
func flush(ctx context.Context, h provider.Handler, reqs []request) ([]answer, error) {
	f, ok := provider.As[provider.Flusher](h)
	if !ok {
		return nil, errMethod
	}
	items := make([]provider.BatchChange, len(reqs))
	for i := range reqs {
		items[i] = reqs[i].change()
	}
	return make([]answer, len(reqs)), f.Flush(ctx, items)
}

// list sends the existing things, one by one.
func (c *served) list(h provider.Handler, reqs []request) ([]answer, error) {
	l, ok := provider.As[provider.Lister](h)
	if !ok {
		return nil, errMethod
	}
	out := make([]answer, len(reqs))
	for i := range reqs {
		host := reqs[i].Call
		err := l.List(reqs[i].ctx, func(f provider.Found) error {
			enc, err := encode(frame{kindFound,
				found{Call: host, Attributes: provider.ObservedAll(f.Attributes)}})
			if err != nil {
				return err
			}
			return c.w.write(enc, false)
		})
		out[i].Err = failureOf(err)
	}
	return out, nil
}

// sendable returns the facts that can be stored, as JSON values. It logs the others.
func sendable(ctx *provider.Context, facts map[string]any) map[string]any {
	out := make(map[string]any, len(facts))
	for name, value := range facts {
		data, err := provider.FactOf(name, value)
		if err != nil {
			ctx.Fact(name, value) // logs the error
			continue
		}
		out[name] = data.Value()
	}
	return out
}
