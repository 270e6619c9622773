package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// readList reads a batch from the handler's list of all that exists. What the list lacks is absent and is not asked for again. What the list
// does not show to be as wanted is read by itself, since a list does not know what a resource asks for. It returns false if the handler
// cannot list or the list failed; then each thing has to be read by itself, and says why that fails.
func (x *executor) readList(ctx context.Context, runs []*run) bool {
	lister, ok := provider.As[provider.Lister](runs[0].handler)
	if !ok {
		return false
	}
	type listed struct {
		byID map[resource.ID]map[string]any
		err  error
	}
	first := runs[0]
	var out *listed
	err := x.e.Caller.Call(ctx, x.batchLimit(runs), func(ctx context.Context) {
		got := &listed{byID: map[resource.ID]map[string]any{}}
		got.err = lister.List(first.ctx.With(ctx), func(f provider.Found) error {
			if id, ok := foundID(first.typ, first.res.Agent, f.Attributes); ok {
				got.byID[id] = f.Attributes
			}
			return ctx.Err()
		})
		out = got
	})
	if err != nil || out == nil || out.err != nil {
		first.host = first.host.detach() // a call that was left behind may still write
		first.bind(ctx)
		return false
	}
	for _, r := range runs {
		attrs, exists := out.byID[r.res.ID]
		switch {
		case !exists:
		case r.want.Purged || shows(r.typ, attrs, r.want.Attributes):
			r.seen = provider.Observation{Exists: true, Attributes: observable(r.typ, attrs)}
		default:
			x.readOne(ctx, r)
		}
	}
	return true
}

// shows reports whether a list shows all that is wanted of a thing, and shows it as wanted.
func shows(typ *schema.Compiled, listed, wanted map[string]any) bool {
	for i := range typ.Attributes {
		a := &typ.Attributes[i]
		compared := a.Behaviour == schema.Property || a.Behaviour == schema.InitOnly
		if want := wanted[a.Name]; compared && want != nil && !resource.Equal(want, listed[a.Name]) {
			return false
		}
	}
	return true
}

// foundID returns the id of a thing that a handler has found; false if a naming attribute is missing or cannot be part of an id.
func foundID(typ *schema.Compiled, agent string, attributes map[string]any) (resource.ID, bool) {
	keys := make([]resource.Key, 0, len(typ.Namevars()))
	for _, name := range typ.Namevars() {
		v, err := resource.FromGo(attributes[name])
		text, ok := resource.KeyText(v)
		if err != nil || !ok {
			return "", false
		}
		keys = append(keys, resource.Key{Name: name, Value: text})
	}
	return resource.NewID(typ.Name, agent, keys...), true
}

// observable returns those of attributes that Read would report as well.
func observable(typ *schema.Compiled, attributes map[string]any) map[string]any {
	out := make(map[string]any, len(attributes))
	for name, v := range attributes {
		if a, ok := typ.Attribute(name); ok && a.Behaviour != schema.Parameter {
			out[name] = v
		}
	}
	return out
}

// inSync lets the handler decide which attributes are as wanted, after checking that what it has read is in its canonical form. It returns
// false if the run failed.
func (x *executor) inSync(r *run, desired map[string]any) bool {
	if !x.canonical(r) {
		return false
	}
	if _, ok := provider.As[provider.InSyncer](r.handler); !ok {
		return true
	}
	var compared []string
	for i := range r.typ.Attributes {
		if a := &r.typ.Attributes[i]; a.Behaviour == schema.Property || a.Behaviour == schema.InitOnly {
			compared = append(compared, a.Name)
		}
	}
	type answer struct {
		diff map[string]plan.Diff
		err  error
	}
	handler, seen, diff := r.handler, r.seen.Attributes, r.diff
	got, ok := call(r.ctx.Context, x, r, func(c *provider.Context) (out answer) {
		out.diff, out.err = provider.ApplySync(c, handler, compared, desired, seen, diff)
		return out
	})
	if ok && got.err != nil {
		x.fail(r, got.err)
	}
	r.diff = got.diff
	return ok && got.err == nil
}

// canonical checks that what the handler has read is in its own canonical form, as the setting strict asks for. It returns false if the run
// failed.
func (x *executor) canonical(r *run) bool {
	c, ok := provider.As[provider.Canonicaliser](r.handler)
	if !ok || x.strict == provider.StrictOff {
		return true
	}
	form, err := c.Canonicalise(r.seen.Attributes)
	var wrong []string
	for name, v := range r.seen.Attributes {
		if err == nil && !resource.Equal(v, form[name]) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	text := "the handler reports values that are not in its own canonical form: " + strings.Join(wrong, ", ")
	switch {
	case err != nil:
		text = "the handler has no canonical form of what it reports: " + err.Error()
	case len(wrong) == 0:
		return true
	}
	if x.strict == provider.StrictError {
		r.end(StatusFailed, provider.Terminal, text)
		return false
	}
	r.host.Log(provider.Line{At: x.e.Clock.Now(), Level: provider.LevelWarning, Msg: text})
	return true
}

// noop tells the handlers that want to know what a deploy would do.
func (x *executor) noop(ctx context.Context) {
	for _, r := range x.open() {
		n, ok := provider.As[provider.Nooper](r.handler)
		if !ok || r.act == plan.NoChange {
			continue
		}
		would := provider.BatchChange{Change: r.act, Resource: r.want, Observed: r.seen, Changes: r.diff, Token: r.createToken()}
		err, answered := call(ctx, x, r, func(c *provider.Context) error {
			would.Context = c
			return n.Noop(c, would)
		})
		if answered && err != nil {
			x.fail(r, fmt.Errorf("a deploy would fail: %w", err))
		}
		if len(r.host.changed) > 0 && r.changes == nil {
			r.changes = map[string]plan.Diff{}
		}
		for name, d := range r.host.redactDiff(r.host.changed) {
			r.changes[name] = d
		}
	}
}

// flush tells the handler that a batch was applied. If that fails, the whole batch has failed, since nothing of it is known to be in force.
func (x *executor) flush(ctx context.Context, runs []*run) {
	var done []provider.BatchChange
	var of []*run
	for _, r := range runs {
		if !r.over() && r.acted {
			of = append(of, r)
			done = append(done, provider.BatchChange{Context: r.ctx, Change: r.act, Resource: r.want, Observed: r.seen, Changes: r.diff, Token: r.createToken()})
		}
	}
	f, ok := provider.As[provider.Flusher](handlerOf(of))
	if !ok {
		return
	}
	out := make(chan error, 1)
	err := x.e.Caller.Call(ctx, x.batchLimit(of), func(ctx context.Context) { out <- f.Flush(ctx, done) })
	if err == nil {
		err = <-out
	}
	for _, r := range of {
		if err != nil {
			r.host = r.host.detach()
			x.fail(r, fmt.Errorf("flush: %w", err))
		}
	}
}

// overridden replaces the change that was inferred by what the handler says that it did, if it says anything. It returns false if the
// handler contradicts itself.
func (x *executor) overridden(r *run) bool {
	switch {
	case r.host.overrides == 0:
		return true
	case r.host.overrides > 1:
		r.end(StatusFailed, provider.Terminal, "the handler has said two different things about what it did; that is a fault in it")
		return false
	}
	r.change = r.host.override
	return true
}
