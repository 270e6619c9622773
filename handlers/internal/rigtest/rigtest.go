// Package rigtest drives the handler of a type in tests as the engine does: it reads, compares and
// makes the call that follows. It is for tests of a handler's behaviour over several applies;
// providertest checks its contract.
package rigtest

import (
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Rig drives one handler, which compares values itself.
type Rig struct {
	T       *testing.T
	Type    *schema.Compiled
	Handler Handler
	Host    *providertest.Host // the same for all applies
	// Released is the version in force. With a new version, handlers lose the facts that they
	// learned of resources of the previous one.
	Released int
}

// Handler is the handler that a rig drives.
type Handler interface {
	provider.Handler
	provider.Differ
}

// New returns a rig for a handler of the definition's type; the definition's own handler is not
// used.
func New(t *testing.T, d provider.Definition, h Handler) *Rig {
	t.Helper()
	reg, err := schema.NewRegistry(d.Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := reg.Type(d.Type.Name)
	return &Rig{T: t, Type: typ, Handler: h, Host: providertest.NewHost(nil)}
}

// Apply brings the thing to the state in attrs, or removes it, and returns the change.
func (g *Rig) Apply(attrs map[string]any, purged bool) (diff.Change, error) {
	g.T.Helper()
	full, problems := g.Type.Check(attrs)
	if len(problems) > 0 {
		g.T.Fatal(problems)
	}
	r := provider.Resource{ID: g.ID(full), Attributes: full, Purged: purged}
	ctx := g.Host.Context(g.T.Context(), provider.Options{ID: r.ID, Desired: r, Released: g.Released})
	obs, err := g.Handler.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return diff.NoChange, err
	}
	diffs, err := g.Handler.Diff(ctx, r, obs)
	switch {
	case err != nil || purged && !obs.Exists:
		return diff.NoChange, err
	case purged:
		_, err = g.Handler.Delete(ctx, provider.DeleteRequest{Resource: r})
		return diff.Purged, err
	case !obs.Exists:
		_, err = g.Handler.Create(ctx, provider.CreateRequest{Resource: r})
		return diff.Created, err
	case len(diffs) == 0:
		return diff.NoChange, nil
	}
	_, err = g.Handler.Update(ctx,
		provider.UpdateRequest{Resource: r, Observed: obs, Changes: diffs})
	return diff.Updated, err
}

// ID returns the id of the resource with attributes, on the agent a.
func (g *Rig) ID(full map[string]any) resource.ID {
	g.T.Helper()
	keys, unnamed := g.Type.Keys(full)
	if unnamed != "" {
		g.T.Fatal("the resource has no " + unnamed)
	}
	return resource.NewID(g.Type.Name, "a", keys...)
}

// Must applies attributes twice: the first time makes the change want, the second none.
func (g *Rig) Must(attrs map[string]any, want diff.Change) {
	g.T.Helper()
	for i, w := range []diff.Change{want, diff.NoChange} {
		if got, err := g.Apply(attrs, false); err != nil || got != w {
			g.T.Fatalf("apply %d did %q, %v; expected %q", i+1, got, err, w)
		}
	}
}

// Fails applies attributes, which must fail with an error of a class that contains part.
func (g *Rig) Fails(attrs map[string]any, purged bool, class provider.Class, part string) {
	g.T.Helper()
	got, err := g.Apply(attrs, purged)
	if err == nil || provider.ClassOf(err) != class || !strings.Contains(err.Error(), part) {
		g.T.Fatalf("did %q, %v (%s); expected %s with %q", got, err, provider.ClassOf(err), class,
			part)
	}
}
