package run

import (
	"context"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// List returns the existing things of a type on an agent, managed or not. like narrows the list,
// for types that need that. The error is Unsupported if the handler of the type cannot list, and
// Unavailable if the list cannot be read.
func (n *Runner) List(ctx context.Context, env string, typ *schema.Compiled, agent resource.Agent,
	like map[string]any, s *Session) ([]provider.Found, error) {
	nobody := anyOf(typ, agent.Name)
	// If the resource cannot be encoded, it does not decode either, and newRun reports that.
	res := &resource.Resource{ID: nobody, Type: typ.Name, Agent: agent.Name}
	model.NameDeclaration(res, typ)
	body, _ := res.Encode()
	r := n.NewRun(ctx, env, &state.Row{ID: nobody, Intent: state.Intent{Body: body}}, nil, s)
	if !r.Over() {
		r.SetDry(nil, false)
		n.Connect(ctx, r, agent)
	}
	if r.Over() {
		return nil, fault.New(fault.Unavailable, "discover "+typ.Name, "%s", r.Reason)
	}
	lister, ok := provider.As[provider.Lister](r.handler)
	if !ok {
		err := fault.New(fault.Unsupported, "discover", "%s cannot list what exists", typ.Name)
		if typ.Declaration() != nil {
			return nil, err.WithHint("describe its objects in a document")
		}
		return nil, err.WithHint("types that can have the feature discover: " +
			"`southbound types --json`")
	}
	r.want.Attributes = like
	r.Bind(ctx)
	x := &Executor{Runner: n, Runs: []*Run{r}, Dry: true}
	type answer struct {
		found []provider.Found
		err   error
	}
	got, ok := call(ctx, x, r, func(c *provider.Context) (out answer) {
		out.err = lister.List(c, func(f provider.Found) error {
			out.found = append(out.found, f)
			return c.Err()
		})
		return out
	})
	if ok && got.err != nil {
		x.fail(r, got.err)
	}
	switch {
	case x.lost != nil:
		return nil, fault.Wrap(fault.Unknown, "discover "+typ.Name, x.lost)
	case r.Over():
		return nil, fault.New(fault.Unavailable, "discover "+typ.Name, "%s", r.Reason)
	}
	return got.found, nil
}
