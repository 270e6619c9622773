package tf

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/tf/process"
	"southbound/shared/tf/wire"
)

// session is one call of a handler: calls to the provider, and the kept state of the resource.
type session struct {
	calls
	close context.CancelFunc
}

// open prepares calls to the provider. The caller calls close.
func (b *bridge) open(ctx *provider.Context, m *meta, r provider.Resource) (*session, error) {
	a, ok := ctx.Transport().(*agent)
	if !ok {
		return nil, provider.With(errNoAgent, provider.ErrUnavailable)
	}
	p, err := b.program(ctx, m)
	if err != nil {
		return nil, broken(err)
	}
	kind := "resource"
	if m.data {
		kind = "data source"
	}
	ty, err := p.compiled(kind, m.theirs)
	if err != nil {
		return nil, broken(err)
	}
	target, err := a.target(m, p)
	if err != nil {
		return nil, broken(err)
	}
	limited, end := patience.WithTimeout(ctx, timeLimit(r.Attributes))
	return &session{calls{ctx: ctx, limited: limited, meta: m, pool: b.Pool, agent: a, target: target,
		program: p, ty: ty}, end}, nil
}

// config returns the configuration of a resource.
func (s *session) config(r provider.Resource) (cty.Value, error) {
	v, err := s.ty.FromAttributes(s.withVersions(s.meta.configured(r.Attributes)))
	switch {
	case err != nil:
		return cty.NilVal, s.meta.invalid(err)
	case !v.IsWhollyKnown():
		return cty.NilVal, provider.Errorf(provider.Retryable, "a reference is not resolved")
	}
	return v, nil
}

// load returns the kept state of the run's resource, and the object in it in the present schema, or
// nil. It reports whether that was upgraded.
func (s *session) load() (k *kept, now *live, upgraded bool, err error) {
	if k, err = readKept(s.ctx.Kept()); err != nil || k.Current == nil {
		return k, nil, false, err
	}
	now, upgraded, err = s.live(k.Current)
	return k, now, upgraded, err
}

// live returns the object of a record. A state that another program of the provider has written is
// upgraded by the provider.
func (s *session) live(r *record) (l *live, upgraded bool, err error) {
	if err := r.check(s.meta, s.ty.Version); err != nil {
		return nil, false, err
	}
	l = &live{private: r.Private, tainted: r.Tainted, doubtful: r.Doubtful, token: r.Token,
		imported: r.Import}
	upgraded = r.Version != s.ty.Version || r.Digest != s.program.installed.Digest
	if !upgraded {
		if l.state, err = s.ty.FromJSON(r.State); err != nil {
			return nil, false, broken(err)
		}
		s.hide(l.state)
	} else if l.state, err = s.upgrade(r); err != nil {
		return nil, false, err
	}
	if l.state.IsNull() {
		return nil, false, provider.Errorf(provider.Terminal, "the provider upgrades the kept state to none; "+
			"use the former version of the provider")
	}
	l.identity, err = s.identity(r)
	return l, upgraded, err
}

// identity returns the identity of a record. An identity that the provider no longer has is left out.
func (s *session) identity(r *record) (out wire.DynamicValue, err error) {
	ty, err := s.program.compiled("identity", s.meta.theirs)
	if len(r.Identity) == 0 || err != nil {
		return out, nil
	}
	if r.IdentityVersion == ty.Version {
		v, err := ty.FromJSON(r.Identity)
		if err != nil {
			return out, broken(err)
		}
		out, err = encode(ty, v)
		return out, broken(err)
	}
	err = s.ask(provider.Terminal, func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		out, d, err = c.UpgradeIdentity(ctx, s.meta.theirs, r.IdentityVersion, r.Identity)
		return d, err
	})
	return out, err
}

// record returns the record of an object.
func (s *session) record(l *live) (*record, error) {
	r := &record{Provider: s.meta.provider.String(), Digest: s.program.installed.Digest,
		Type: s.meta.theirs, Version: s.ty.Version, Private: l.private, Tainted: l.tainted,
		Doubtful: l.doubtful, Token: l.token, Import: l.imported}
	var err error
	if r.State, err = s.ty.JSON(l.state); err != nil {
		return nil, broken(err)
	}
	ty, err := s.program.compiled("identity", s.meta.theirs)
	if err != nil || l.identity.Absent() {
		return r, nil
	}
	v, err := decode(ty, l.identity)
	if err != nil || v.IsNull() || !v.IsWhollyKnown() {
		return r, broken(err)
	}
	r.IdentityVersion = ty.Version
	r.Identity, err = ty.JSON(v)
	return r, broken(err)
}

// keep stores the state of the run's resource with now as its object, or nil. A call that was canceled
// is no reason to lose the state.
func (s *session) keep(k *kept, now *live) error {
	k.Form, k.Current = keptForm, nil
	var outputs map[string]any
	if now != nil {
		r, err := s.record(now)
		if err != nil {
			return fmt.Errorf("the state of the object cannot be kept: %w", err)
		}
		k.Current, outputs = r, s.outputs(now)
	}
	b, err := k.bytes()
	if err != nil {
		return err
	}
	ctx := s.ctx.With(context.WithoutCancel(s.ctx))
	if len(b) == 0 {
		return ctx.Keep(nil)
	}
	return ctx.KeepWithOutputs(b, outputs)
}

// outputs returns the secret outputs of an object: its sensitive attributes, by their names here.
func (s *session) outputs(l *live) map[string]any {
	if l.doubtful {
		return nil
	}
	all := s.ty.Attributes(l.state)
	out := map[string]any{}
	for _, name := range firsts(s.ty.Sensitive(l.state)) {
		if v := all[name]; v != nil {
			out[s.meta.here(name)] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
