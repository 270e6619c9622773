package provider

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/schema"
)

// Provider is one of several handlers that can serve a type.
type Provider struct {
	Name        string // one word: apt, systemd
	Description string // what the provider works with, in a few words
	Needs       Needs
	// Preference decides between suitable providers: the greatest wins, and the first declared of
	// equals.
	Preference int
	Handler    Handler
}

// ProviderAttribute is the attribute of a resource that names its provider.
const ProviderAttribute = "provider"

// Define returns a type served by several providers. The type gains the attribute "provider".
// Start-up reports errors of the declaration, together with all other errors of types.
func Define(t schema.Type, providers ...Provider) Definition {
	c := &Choice{providers: providers}
	var problems []string
	var names []string
	for i, p := range providers {
		switch {
		case p.Name == "" || strings.ContainsAny(p.Name, " ,[]\"'"):
			problems = append(problems, fmt.Sprintf("provider %d: %q is not a name", i+1, p.Name))
		case p.Handler == nil:
			problems = append(problems, fmt.Sprintf("provider %s has no handler", p.Name))
		}
		for _, other := range names {
			if other == p.Name {
				problems = append(problems, fmt.Sprintf("provider %s is there twice", p.Name))
			}
		}
		for _, m := range Mismatches(p.Handler) {
			problems = append(problems, fmt.Sprintf("provider %s: %s; %s", p.Name, m.Message, m.Hint))
		}
		names = append(names, p.Name)
		if problem := p.Needs.check(); problem != "" {
			problems = append(problems, fmt.Sprintf("provider %s: %s", p.Name, problem))
		}
	}
	if len(providers) == 0 {
		problems = append(problems, "there is no provider")
	}
	if len(problems) == 0 {
		for _, pure := range pureCapabilities() {
			if n := c.count(pure); n != 0 && n != len(providers) {
				problems = append(problems,
					fmt.Sprintf(
						"%d of %d providers implement %s: values are compared in one way, so all "+
							"do or none", n, len(providers), pure.Name()))
			}
		}
	}
	for _, a := range t.Attributes {
		if a.Name == ProviderAttribute {
			problems = append(problems, "the attribute provider is added, and declared already")
		}
	}
	if len(problems) > 0 {
		t.Wrong = slices.Clone(t.Wrong)
		for _, p := range problems {
			t.Wrong.Add(diag.Problem{Resource: t.Name, Message: p})
		}
		return Definition{Type: t, Handler: &Choice{}}
	}
	t.Attributes = append(t.Attributes[:len(t.Attributes):len(t.Attributes)], schema.Attribute{
		Name: ProviderAttribute, Type: "Optional[Enum['" + strings.Join(names, "', '") + "']]",
		Behaviour: schema.Parameter, Description: describe(providers),
	})
	t.Providers = names
	return Definition{Type: t, Handler: c}
}

func describe(providers []Provider) string {
	var list []string
	for _, p := range providers {
		list = append(list, p.Name+" ("+p.Description+")")
	}
	return "the provider that manages it: " + strings.Join(list, ", ") +
		"; by default the first of these that the machine supports, by preference"
}

// pureCapabilities are the interfaces that compare values.
func pureCapabilities() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[Canonicaliser](), reflect.TypeFor[Differ](),
		reflect.TypeFor[InSyncer]()}
}

// Choice is a handler that delegates to several: each call goes to the provider that was chosen for
// the run. See docs/design/sdk.md.
//
// Large: it has each capability that a handler can have, and passes each call on.
type Choice struct{ providers []Provider }

// Providers returns the providers in the order of their declaration. Callers must not change it.
func (c *Choice) Providers() []Provider { return c.providers }

func (c *Choice) count(capability reflect.Type) int {
	n := 0
	for _, p := range c.providers {
		if can(p.Handler, capability) {
			n++
		}
	}
	return n
}

func can(h Handler, capability reflect.Type) bool {
	if !reflect.TypeOf(h).Implements(capability) {
		return false
	}
	p, partial := h.(Partial)
	return !partial || p.Serves(capability)
}

// Serves implements Partial: the choice serves each interface that at least one provider serves.
// For the other providers, the call does nothing.
func (c *Choice) Serves(capability reflect.Type) bool {
	switch capability {
	case reflect.TypeFor[BatchReader](), reflect.TypeFor[BatchApplier](),
		reflect.TypeFor[Timeouter]():
		return true
	}
	return c.count(capability) > 0
}

// choose returns the provider of a run, and keeps it for the rest of the run.
func (c *Choice) choose(ctx *Context, r Resource) (*Provider, error) {
	if ctx.run != nil {
		ctx.run.mu.Lock()
		defer ctx.run.mu.Unlock()
		if p := ctx.run.chosen; p != nil {
			return p, nil
		}
	}
	if p := c.byName(ctx.opts.Provider); p != nil {
		if ctx.run != nil {
			ctx.run.chosen = p
		}
		return p, nil
	}
	p, why, err := c.pick(ctx, r)
	if err != nil {
		return nil, err
	}
	ctx.host.Provider(p.Name, why)
	if ctx.run != nil {
		ctx.run.chosen = p
	}
	return p, nil
}

// byName returns the provider of a name; nil: there is none.
func (c *Choice) byName(name string) *Provider {
	for i := range c.providers {
		if c.providers[i].Name == name {
			return &c.providers[i]
		}
	}
	return nil
}

// pick returns the provider to use and the reason.
func (c *Choice) pick(ctx *Context, r Resource) (*Provider, string, error) {
	if name, _ := r.Attributes[ProviderAttribute].(string); name != "" {
		p := c.byName(name)
		if p == nil {
			return nil, "", Errorf(NeedsChange, "%s has no provider %q", r.Type, name)
		}
		if lack := p.Needs.lack(ctx); lack != "" {
			return nil, "", Errorf(Retryable,
				"the provider %s, which the resource names, does not suit: %s", name, lack)
		}
		return p, "the resource names it", nil
	}
	var best *Provider
	var also, not []string
	for i := range c.providers {
		p := &c.providers[i]
		switch lack := p.Needs.lack(ctx); {
		case lack != "":
			not = append(not, p.Name+": "+lack)
		case best == nil:
			best = p
		case p.Preference > best.Preference:
			also = append(also, best.Name)
			best = p
		default:
			also = append(also, p.Name)
		}
	}
	if best == nil {
		return nil, "", Errorf(Retryable, "no provider of %s suits this machine: %s", r.Type,
			strings.Join(not, "; "))
	}
	why := "it suits: " + best.Needs.String()
	if len(also) > 0 {
		why += fmt.Sprintf("; preferred (%d) over %s", best.Preference, strings.Join(also, ", "))
	}
	if len(not) > 0 {
		why += "; not " + strings.Join(not, ", not ")
	}
	return best, why, nil
}

// Read implements Handler.
func (c *Choice) Read(ctx *Context, req ReadRequest) (Observation, error) {
	p, err := c.choose(ctx, req.Resource)
	if err != nil {
		return Observation{}, err
	}
	return p.Handler.Read(ctx, req)
}

// Create implements Handler.
func (c *Choice) Create(ctx *Context, req CreateRequest) (Result, error) {
	p, err := c.choose(ctx, req.Resource)
	if err != nil {
		return Result{}, err
	}
	return p.Handler.Create(ctx, req)
}

// Update implements Handler.
func (c *Choice) Update(ctx *Context, req UpdateRequest) (Result, error) {
	p, err := c.choose(ctx, req.Resource)
	if err != nil {
		return Result{}, err
	}
	return p.Handler.Update(ctx, req)
}

// Delete implements Handler.
func (c *Choice) Delete(ctx *Context, req DeleteRequest) (Result, error) {
	p, err := c.choose(ctx, req.Resource)
	if err != nil {
		return Result{}, err
	}
	return p.Handler.Delete(ctx, req)
}

// share is the part of a batch for one provider.
type share struct {
	provider *Provider
	index    []int // in the batch
}

// split chooses a provider for each item and returns the shares in order of first use.
func (c *Choice) split(
	n int, item func(i int) (*Context, Resource), failed func(i int, err error),
) []share {
	var out []share
	for i := range n {
		ctx, r := item(i)
		p, err := c.choose(ctx, r)
		if err != nil {
			failed(i, err)
			continue
		}
		k := 0
		for k < len(out) && out[k].provider != p {
			k++
		}
		if k == len(out) {
			out = append(out, share{provider: p})
		}
		out[k].index = append(out[k].index, i)
	}
	return out
}

// ReadBatch implements BatchReader: each provider that reads batches gets its share in one call.
func (c *Choice) ReadBatch(ctx context.Context, items []BatchRead) []Reading {
	out := make([]Reading, len(items))
	for _, s := range c.split(len(items),
		func(i int) (*Context, Resource) { return items[i].Context, items[i].Resource },
		func(i int, err error) { out[i].Err = err }) {
		part := make([]BatchRead, len(s.index))
		for k, i := range s.index {
			part[k] = items[i]
		}
		for k, r := range readAll(ctx, s.provider.Handler, part) {
			out[s.index[k]] = r
		}
	}
	return out
}

func readAll(ctx context.Context, h Handler, items []BatchRead) []Reading {
	if b, ok := As[BatchReader](h); ok {
		if out := b.ReadBatch(ctx, items); len(out) == len(items) {
			return out
		}
		return failedReadings(len(items))
	}
	out := make([]Reading, len(items))
	for i, item := range items {
		out[i].Observation, out[i].Err = h.Read(item.Context, item.ReadRequest)
	}
	return out
}

func failedReadings(n int) []Reading {
	out := make([]Reading, n)
	for i := range out {
		out[i].Err = Errorf(Retryable, "the handler did not answer for each item of a batch")
	}
	return out
}

// ApplyBatch implements BatchApplier.
func (c *Choice) ApplyBatch(ctx context.Context, items []BatchChange) []Applied {
	out := make([]Applied, len(items))
	for _, s := range c.split(len(items),
		func(i int) (*Context, Resource) { return items[i].Context, items[i].Resource },
		func(i int, err error) { out[i].Err = err }) {
		part := make([]BatchChange, len(s.index))
		for k, i := range s.index {
			part[k] = items[i]
		}
		for k, a := range applyAll(ctx, s.provider.Handler, part) {
			out[s.index[k]] = a
		}
	}
	return out
}

func applyAll(ctx context.Context, h Handler, items []BatchChange) []Applied {
	out := make([]Applied, len(items))
	if b, ok := As[BatchApplier](h); ok {
		if got := b.ApplyBatch(ctx, items); len(got) == len(items) {
			return got
		}
		for i := range out {
			out[i].Err = Errorf(Retryable, "the handler did not answer for each item of a batch")
		}
		return out
	}
	for i, item := range items {
		out[i].Result, out[i].Err = Apply(h, item)
	}
	return out
}
