package provider

import (
	"context"
	"errors"
	"slices"
	"time"

	"southbound/shared/diff"
)

// Apply makes one change by the corresponding call.
func Apply(h Handler, c BatchChange) (Result, error) {
	switch c.Change {
	case diff.Created:
		return h.Create(c.Context, CreateRequest{Resource: c.Resource, Token: c.Token,
			Carried: c.Observed.Carried})
	case diff.Updated:
		return h.Update(c.Context, UpdateRequest{Resource: c.Resource, Observed: c.Observed,
			Changes: c.Changes})
	case diff.Purged:
		return h.Delete(c.Context, DeleteRequest{Resource: c.Resource, Observed: c.Observed})
	case diff.NoChange:
	}
	return Result{}, nil
}

// The optional interfaces of a choice. If the provider of a run lacks an interface that other
// providers have, the call does nothing.

// Canonicalise implements Canonicaliser by the provider that the resource names, else the first
// one: either all providers have it or none, and their results are equal.
func (c *Choice) Canonicalise(attributes map[string]any) (map[string]any, error) {
	h := c.providers[0].Handler
	for _, p := range c.providers {
		if p.Name == attributes[ProviderAttribute] {
			h = p.Handler
		}
	}
	if canonical, ok := As[Canonicaliser](h); ok {
		return canonical.Canonicalise(attributes)
	}
	return attributes, nil
}

// Diff implements Differ.
func (c *Choice) Diff(
	ctx *Context, desired Resource, observed Observation,
) (map[string]diff.Diff, error) {
	p, err := c.choose(ctx, desired)
	if err != nil {
		return nil, err
	}
	if d, ok := As[Differ](p.Handler); ok {
		return d.Diff(ctx, desired, observed)
	}
	return nil, Errorf(Terminal, "the provider %s compares nothing", p.Name)
}

// InSync implements InSyncer.
func (c *Choice) InSync(ctx *Context, attribute string, desired, observed any) (Verdict, error) {
	p, err := c.choose(ctx, ctx.Desired())
	if err != nil {
		return Verdict{}, err
	}
	if s, ok := As[InSyncer](p.Handler); ok {
		return s.InSync(ctx, attribute, desired, observed)
	}
	return Verdict{}, nil
}

// Reload implements Reloader.
func (c *Choice) Reload(ctx *Context, req ReadRequest) error {
	p, err := c.choose(ctx, req.Resource)
	if err != nil {
		return err
	}
	if l, ok := As[Reloader](p.Handler); ok {
		return l.Reload(ctx, req)
	}
	return nil
}

// Facts implements FactReader.
func (c *Choice) Facts(ctx *Context, req ReadRequest) (map[string]any, error) {
	p, err := c.choose(ctx, req.Resource)
	if err != nil {
		return nil, err
	}
	if f, ok := As[FactReader](p.Handler); ok {
		return f.Facts(ctx, req)
	}
	return nil, nil
}

// FindCreated implements Finder.
func (c *Choice) FindCreated(ctx *Context, req CreateRequest) (bool, error) {
	p, err := c.choose(ctx, req.Resource)
	if err != nil {
		return false, err
	}
	if f, ok := As[Finder](p.Handler); ok {
		return f.FindCreated(ctx, req)
	}
	return false, Errorf(Terminal, "the provider %s cannot look up the result of a create", p.Name)
}

// Noop implements Nooper.
func (c *Choice) Noop(ctx *Context, planned BatchChange) error {
	p, err := c.choose(ctx, planned.Resource)
	if err != nil {
		return err
	}
	if n, ok := As[Nooper](p.Handler); ok {
		return n.Noop(ctx, planned)
	}
	return nil
}

// Flush implements Flusher.
func (c *Choice) Flush(ctx context.Context, done []BatchChange) error {
	var errs []error
	for _, s := range c.split(len(done),
		func(i int) (*Context, Resource) { return done[i].Context, done[i].Resource },
		func(_ int, err error) { errs = append(errs, err) }) {
		f, ok := As[Flusher](s.provider.Handler)
		if !ok {
			continue
		}
		part := make([]BatchChange, len(s.index))
		for k, i := range s.index {
			part[k] = done[i]
		}
		errs = append(errs, f.Flush(ctx, part))
	}
	return errors.Join(errs...)
}

// Generate implements Generator by the first provider that does; at most one provider may.
func (c *Choice) Generate(r Resource) ([]Generated, error) {
	for _, p := range c.providers {
		if g, ok := As[Generator](p.Handler); ok {
			return g.Generate(r)
		}
	}
	return nil, nil
}

// CallTimeout implements Timeouter with the longest limit of the providers, since the provider that
// will serve the resource is not known yet.
func (c *Choice) CallTimeout(r Resource) time.Duration {
	longest := time.Duration(0)
	for _, p := range c.providers {
		if t, ok := As[Timeouter](p.Handler); ok {
			longest = max(longest, t.CallTimeout(r))
		}
	}
	return longest
}

// Remembers implements Rememberer with the facts of all providers, since the provider that will
// serve the resource is not known yet.
func (c *Choice) Remembers(r Resource) []string {
	var out []string
	for _, p := range c.providers {
		if m, ok := As[Rememberer](p.Handler); ok {
			out = append(out, m.Remembers(r)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Keeps implements Keeper: any of the providers may serve the resource.
func (c *Choice) Keeps(r Resource) bool {
	for _, p := range c.providers {
		if k, ok := As[Keeper](p.Handler); ok && k.Keeps(r) {
			return true
		}
	}
	return false
}

// List implements Lister with the things that all suitable listing providers find. A thing found by
// another provider than the default one includes the name of its provider.
func (c *Choice) List(ctx *Context, found func(Found) error) error {
	fallback, _, err := c.pick(ctx, Resource{Type: ctx.ID().Type()})
	if err != nil {
		return err
	}
	for i := range c.providers {
		p := &c.providers[i]
		l, ok := As[Lister](p.Handler)
		if !ok || p.Needs.lack(ctx) != "" {
			continue
		}
		err := l.List(ctx, func(f Found) error {
			if p != fallback {
				named := make(map[string]any, len(f.Attributes)+1)
				for k, v := range f.Attributes {
					named[k] = v
				}
				named[ProviderAttribute] = p.Name
				f.Attributes = named
			}
			return found(f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
