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

// ListQuery selects existing things of a type on an agent.
type ListQuery struct {
	Type  *schema.Compiled
	Agent resource.Agent
	Like  map[string]any // narrows the list, for types that need that
	IDs   []string       // the target's identifiers of the things; empty: the target lists them
}

// List returns the existing things of a type on an agent, managed or not, and whether the handler is a
// provider.Importer, which describes them completely. The error is Unsupported if the handler of the
// type cannot list or import, Invalid if it refuses an identifier, and Unavailable if the target cannot
// be read.
func (n *Runner) List(
	ctx context.Context, env string, q ListQuery, s *Session,
) (things []provider.Found, imported bool, err error) {
	typ, agent := q.Type, q.Agent
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
		return nil, false, fault.New(fault.Unavailable, "discover "+typ.Name, "%s", r.Reason)
	}
	list, imported, err := listing(r, q)
	if err != nil {
		return nil, false, err
	}
	r.want.Attributes = q.Like
	r.Bind(ctx)
	x := &Executor{Runner: n, Runs: []*Run{r}, Dry: true}
	type answer struct {
		found []provider.Found
		err   error
	}
	got, ok := call(ctx, x, r, func(c *provider.Context) (out answer) {
		out.err = list(c, func(f provider.Found) error {
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
		return nil, false, fault.Wrap(fault.Unknown, "discover "+typ.Name, x.lost)
	case r.Over():
		kind := fault.Unavailable
		if imported && got.err != nil && provider.ClassOf(got.err) == provider.NeedsChange {
			kind = fault.Invalid
		}
		return nil, false, fault.New(kind, "discover "+typ.Name, "%s", r.Reason)
	}
	return got.found, imported, nil
}

// listing returns the operation that lists or imports things.
func listing(r *Run, q ListQuery) (
	list func(*provider.Context, func(provider.Found) error) error, imported bool, err error,
) {
	if importer, is := provider.As[provider.Importer](r.handler); is {
		return func(c *provider.Context, found func(provider.Found) error) error {
			return importer.Import(c, q.IDs, found)
		}, true, nil
	}
	if len(q.IDs) > 0 {
		return nil, false, fault.New(fault.Unsupported, "discover", "%s cannot import things by identifiers",
			q.Type.Name).WithHint("leave out --import")
	}
	lister, is := provider.As[provider.Lister](r.handler)
	if is {
		return lister.List, false, nil
	}
	failure := fault.New(fault.Unsupported, "discover", "%s cannot list existing objects", q.Type.Name)
	if q.Type.Declaration() != nil {
		return nil, false, failure.WithHint("describe its objects in a document")
	}
	return nil, false, failure.WithHint("types that can have the feature discover: `southbound types --json`")
}
