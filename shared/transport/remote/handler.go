package remote

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Dial returns a connection: the open one, or a new one if that has ended.
type Dial func(ctx context.Context) (*Conn, error)

// Handler returns a handler that stands for h, the handler of type t, on the machine that dial
// reaches. It implements provider.Partial. A type whose things are not on a machine is rejected,
// terminally.
func Handler(t schema.Type, h provider.Handler, dial Dial) (provider.Handler, error) {
	if !t.Machine {
		return nil, provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Unsupported, "", "%s is not on a machine, and this agent is one",
				t.Name).
				WithHint("give it an agent of another transport"))
	}
	return &forwarder{typ: t, h: h, dial: dial}, nil
}

// forwarder stands for a handler on a machine.
//
// Large: it has each capability that a handler can have, and passes each call on.
type forwarder struct {
	typ  schema.Type
	h    provider.Handler
	dial Dial
}

// Serves implements provider.Partial: the capabilities are those of the handler it stands for.
func (f *forwarder) Serves(capability reflect.Type) bool {
	if !reflect.TypeOf(f.h).Implements(capability) {
		return false
	}
	p, partial := f.h.(provider.Partial)
	return !partial || p.Serves(capability)
}

// do calls a method on the machine. A method that only reads is retried once if the connection is
// lost.
func (f *forwarder) do(
	ctx context.Context, m method, items []item, ctxs []*provider.Context,
) ([]*answer, error) {
	p, err := f.ask(ctx, m, items, ctxs)
	if err != nil {
		return nil, err
	}
	return p.answers, nil
}

func (f *forwarder) ask(
	ctx context.Context, m method, items []item, ctxs []*provider.Context,
) (*pending, error) {
	p, err := f.try(ctx, m, items, ctxs)
	if wasLost(err) && ctx.Err() == nil &&
		slices.Contains([]method{callRead, callReadBatch, callFacts, callFind, callDiff, callInSync,
			callList}, m) {
		return f.try(ctx, m, items, ctxs)
	}
	return p, err
}

func (f *forwarder) try(
	ctx context.Context, m method, items []item, ctxs []*provider.Context,
) (*pending, error) {
	c, err := f.dial(ctx)
	if err != nil {
		return nil, err
	}
	switch there := c.types[f.typ.Name]; {
	case there == "":
		return nil, provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Unsupported, "", "the program on the machine has no handler for %s",
				f.typ.Name).WithHint("%s", hintProgram))
	case there != digest(f.typ):
		return nil, provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Unsupported, "",
				"the program on the machine, version %s, has another %s", c.Version, f.typ.Name).
				WithHint("%s", hintProgram))
	}
	for i := range items {
		items[i].Observed.carry(c)
	}
	return c.do(ctx, m, f.typ.Name, items, ctxs)
}

const hintProgram = "install the same program there, or leave `program` out: then it is uploaded"

// one calls a method for one resource.
func (f *forwarder) one(ctx *provider.Context, m method, it item) (*answer, error) {
	answers, err := f.do(ctx, m, []item{it}, []*provider.Context{ctx})
	switch {
	case err != nil:
		return nil, err
	case len(answers) != 1:
		return nil, provider.Errorf(provider.Retryable, "the program on the machine did not answer")
	}
	return answers[0], answers[0].Err.err()
}

// itemOf returns the transferred form of a resource.
func itemOf(ctx *provider.Context, r provider.Resource) item {
	return item{ID: string(r.ID), Agent: r.Agent, Attributes: r.Attributes, Purged: r.Purged,
		DryRun: ctx.DryRun(), State: ctx.State(), Reload: ctx.Reloading(),
		Version: ctx.Version(), Released: ctx.Released(), Known: ctx.Remembered(),
		Provider: ctx.Provider(), Kept: ctx.Kept()}
}

// Read implements provider.Handler.
func (f *forwarder) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	a, err := f.one(ctx, callRead, itemOf(ctx, req.Resource))
	if a == nil {
		return provider.Observation{}, err
	}
	return a.Observed.observation(), err
}

// Create implements provider.Handler.
func (f *forwarder) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	it := itemOf(ctx, req.Resource)
	it.Token, it.Observed = req.Token, observedBy(provider.Observation{Carried: req.Carried})
	return result(f.one(ctx, callCreate, it))
}

// Update implements provider.Handler.
func (f *forwarder) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	it := itemOf(ctx, req.Resource)
	it.Observed, it.Changes = observedBy(req.Observed), req.Changes
	return result(f.one(ctx, callUpdate, it))
}

// Delete implements provider.Handler.
func (f *forwarder) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	it := itemOf(ctx, req.Resource)
	it.Observed = observedBy(req.Observed)
	return result(f.one(ctx, callDelete, it))
}

func result(a *answer, err error) (provider.Result, error) {
	if a == nil || a.Again == nil {
		return provider.Result{}, err
	}
	return provider.Result{Again: &provider.Again{After: a.Again.After, State: a.Again.State}}, err
}

// ReadBatch implements provider.BatchReader. If the handler on the machine panicked or hung, it
// returns fewer readings than items, as a local handler would.
func (f *forwarder) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	send, ctxs := make([]item, len(items)), make([]*provider.Context, len(items))
	for i, b := range items {
		send[i], ctxs[i] = itemOf(b.Context, b.Resource), b.Context
	}
	return batch(ctx, f, callReadBatch, send, ctxs, func(a *answer, err error) provider.Reading {
		if err != nil {
			return provider.Reading{Err: err}
		}
		return provider.Reading{Observation: a.Observed.observation(), Err: a.Err.err()}
	})
}

// batch makes a call for several items, and returns the results of one, which converts the answer
// for each item, or the error for all.
func batch[T any](
	ctx context.Context, f *forwarder, call method, items []item, ctxs []*provider.Context,
	one func(a *answer, err error) T,
) []T {
	answers, err := f.do(ctx, call, items, ctxs)
	if apart(err) || err == nil && len(answers) != len(items) {
		return nil
	}
	out := make([]T, len(items))
	for i := range out {
		if err != nil {
			out[i] = one(nil, err)
		} else {
			out[i] = one(answers[i], nil)
		}
	}
	return out
}

// apart reports whether the error of a batch does not concern all its items: one of them may make
// the handler panic.
func apart(err error) bool { return fault.Is(err, fault.Internal) || errors.Is(err, errMethod) }

// ApplyBatch implements provider.BatchApplier; see ReadBatch.
func (f *forwarder) ApplyBatch(
	ctx context.Context, items []provider.BatchChange,
) []provider.Applied {
	send, ctxs := make([]item, len(items)), make([]*provider.Context, len(items))
	for i, b := range items {
		send[i], ctxs[i] = changeOf(b), b.Context
	}
	return batch(ctx, f, callApplyBatch, send, ctxs, func(a *answer, err error) provider.Applied {
		if err != nil {
			return provider.Applied{Err: err}
		}
		var out provider.Applied
		out.Result, out.Err = result(a, a.Err.err())
		return out
	})
}

// Reload implements provider.Reloader.
func (f *forwarder) Reload(ctx *provider.Context, req provider.ReadRequest) error {
	_, err := f.one(ctx, callReload, itemOf(ctx, req.Resource))
	return err
}

// Facts implements provider.FactReader.
func (f *forwarder) Facts(
	ctx *provider.Context, req provider.ReadRequest,
) (map[string]any, error) {
	a, err := f.one(ctx, callFacts, itemOf(ctx, req.Resource))
	if a == nil {
		return nil, err
	}
	return a.Facts, err
}

// Remembers implements provider.Rememberer: in this process, as it does not read the machine.
func (f *forwarder) Remembers(r provider.Resource) []string {
	m, ok := provider.As[provider.Rememberer](f.h)
	if !ok {
		return nil
	}
	return m.Remembers(r)
}

// Keeps implements provider.Keeper: in this process, as it does not read the machine.
func (f *forwarder) Keeps(r provider.Resource) bool {
	k, ok := provider.As[provider.Keeper](f.h)
	return ok && k.Keeps(r)
}

// FindCreated implements provider.Finder.
func (f *forwarder) FindCreated(ctx *provider.Context, req provider.CreateRequest) (bool, error) {
	it := itemOf(ctx, req.Resource)
	it.Token = req.Token
	a, err := f.one(ctx, callFind, it)
	return a != nil && a.Found, err
}

// Canonicalise implements provider.Canonicaliser: in this process, as it does not read the machine.
func (f *forwarder) Canonicalise(attributes map[string]any) (map[string]any, error) {
	if c, ok := provider.As[provider.Canonicaliser](f.h); ok {
		return c.Canonicalise(attributes)
	}
	return attributes, nil
}

// Reloads implements provider.Selective: in this process, as it does not read the machine.
func (f *forwarder) Reloads(r provider.Resource) bool { return provider.Reloads(f.h, r) }

// CallTimeout implements provider.Timeouter: in this process, as it does not read the machine.
func (f *forwarder) CallTimeout(r provider.Resource) time.Duration {
	if t, ok := provider.As[provider.Timeouter](f.h); ok {
		return t.CallTimeout(r)
	}
	return 0
}
