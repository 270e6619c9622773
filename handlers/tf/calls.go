package tf

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
	"southbound/shared/tf/process"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// calls are the calls to the provider that one call of a handler makes.
type calls struct {
	ctx     *provider.Context
	limited context.Context // for calls to the provider
	meta    *meta
	pool    *process.Pool
	agent   *agent
	target  process.Target
	program *program
	ty      *value.Type // of the resource
}

// call is one call to the provider. It returns the diagnostics of the answer.
type call func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error)

// do makes one call. It logs the warnings of the answer, and returns the errors of the provider. If the
// provider was stopped during the call, the answer describes what was done until then.
func (s *calls) do(class provider.Class, f call) (failed error, stopped bool, err error) {
	var found []wire.Diagnostic
	err = s.pool.Do(s.limited, s.target, func(ctx context.Context, c *process.Call) error {
		d, err := f(ctx, c)
		found, stopped = d, c.Interrupted()
		return err
	})
	s.agent.note(err)
	for _, text := range s.meta.lines(found, true) {
		s.ctx.Warning(s.target.Clean(text))
	}
	if failed = s.meta.failed(class, found); failed != nil {
		failed = provider.Errorf(class, "%s", s.target.Clean(failed.Error()))
	}
	return failed, stopped, broken(err)
}

// ask makes a call that changes nothing. An answer after a Stop is none.
func (s *calls) ask(class provider.Class, f call) error {
	failed, stopped, err := s.do(class, f)
	switch {
	case err != nil:
		return err
	case stopped:
		return provider.Errorf(provider.Retryable, "the call to the provider was interrupted")
	}
	return failed
}

// decode reads a state in an answer, and registers its secrets.
func (s *calls) decode(v wire.DynamicValue) (cty.Value, error) {
	out, err := decode(s.ty, v)
	if err != nil {
		return cty.NilVal, broken(err)
	}
	s.hide(out)
	return out, nil
}

// hide registers the sensitive values of a state, so that no output has them.
func (s *calls) hide(v cty.Value) {
	for _, text := range secretTexts(s.ty, v) {
		s.ctx.Secret(text)
	}
}

// stateIn reads a state in the answer to an upgrade, an import or a read. Providers of old SDKs answer
// null blocks.
func (s *calls) stateIn(v wire.DynamicValue) (cty.Value, error) {
	out, err := s.decode(v)
	if err != nil {
		return cty.NilVal, err
	}
	if out = s.ty.Normalize(out); !out.IsWhollyKnown() {
		return cty.NilVal, s.meta.contradicts("state", []value.Violation{
			{Message: "a part of a state that was read is unknown"}})
	}
	return out, nil
}

// read returns the present state of an object; nil: it no longer exists.
func (s *calls) read(l *live) (*live, error) { return s.readAs(provider.Retryable, l) }

// readAs is read. class is that of errors in the answer.
func (s *calls) readAs(class provider.Class, l *live) (*live, error) {
	state, err := encode(s.ty, l.state)
	if err != nil {
		return nil, broken(err)
	}
	var a wire.ReadAnswer
	err = s.ask(class, func(ctx context.Context, c *process.Call) (_ []wire.Diagnostic, err error) {
		a, err = c.Read(ctx, wire.Read{Type: s.meta.theirs, State: state, Private: l.private,
			Identity: l.identity})
		return a.Diagnostics, err
	})
	if err != nil {
		return nil, err
	}
	out := &live{private: a.Private, identity: l.identity, tainted: l.tainted, token: l.token,
		imported: l.imported}
	if !a.Identity.Absent() {
		out.identity = a.Identity
	}
	if out.state, err = s.stateIn(a.State); err != nil || out.state.IsNull() {
		return nil, err
	}
	return out, nil
}

// adopt imports an existing object, and reads it: an import may succeed although there is no object.
// It returns nil if there is none.
func (s *calls) adopt(q wire.Import) (*live, error) { return s.adoptAs(provider.Retryable, q) }

// adoptAs is adopt. class is that of errors in the answers: some providers do not answer that an
// object that was imported does not exist, and fail.
func (s *calls) adoptAs(class provider.Class, q wire.Import) (*live, error) {
	q.Type = s.meta.theirs
	var a wire.ImportAnswer
	err := s.ask(class, func(ctx context.Context, c *process.Call) (_ []wire.Diagnostic, err error) {
		a, err = c.Import(ctx, q)
		return a.Diagnostics, err
	})
	if err != nil {
		return nil, err
	}
	var found []wire.Imported
	for _, i := range a.Resources {
		if i.Type == s.meta.theirs {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return nil, provider.Errorf(provider.NeedsChange, "%s: the provider imports %d objects of %s by this "+
			"identifier; name one object", attrImport, len(found), s.meta.theirs)
	}
	state, err := s.stateIn(found[0].State)
	if err != nil || state.IsNull() {
		return nil, err
	}
	return s.readAs(class, &live{state: state, private: found[0].Private, identity: found[0].Identity,
		imported: q.ID})
}

// validate validates a configuration.
func (s *calls) validate(config cty.Value) error {
	v, err := encode(s.ty, config)
	if err != nil {
		return broken(err)
	}
	return s.ask(provider.NeedsChange, func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		return c.ValidateResource(ctx, s.meta.theirs, v)
	})
}

// plan is the plan of a change.
type plan struct {
	config, prior, planned cty.Value
	private                []byte
	identity               wire.DynamicValue
	requires               []cty.Path // requires_replace of the answer
}

// plan plans the change of an object to a configuration. A nil prior creates, a null configuration
// deletes.
func (s *calls) plan(prior *live, config cty.Value) (*plan, error) {
	p := &plan{config: config, prior: s.ty.Null()}
	q := wire.Plan{Type: s.meta.theirs}
	if prior != nil {
		p.prior, p.identity = prior.state, prior.identity
		q.Private, q.Identity = prior.private, prior.identity
	}
	proposed := s.ty.Null()
	if !config.IsNull() {
		proposed = s.ty.Proposed(p.prior, config)
	}
	if err := s.encode(map[*wire.DynamicValue]cty.Value{&q.Prior: p.prior, &q.Proposed: proposed,
		&q.Config: config}); err != nil {
		return nil, err
	}
	var a wire.PlanAnswer
	err := s.ask(provider.NeedsChange, func(ctx context.Context, c *process.Call) (_ []wire.Diagnostic, err error) {
		a, err = c.Plan(ctx, q)
		return a.Diagnostics, err
	})
	if err != nil {
		return nil, err
	}
	return p, s.planned(p, &a)
}

// planned completes a plan by the answer of the provider.
func (s *calls) planned(p *plan, a *wire.PlanAnswer) error {
	var err error
	if p.planned, err = s.decode(a.Planned); err != nil {
		return err
	}
	if a.LegacyTypes {
		p.planned = s.ty.Normalize(p.planned)
	}
	p.private = a.Private
	if !a.Identity.Absent() {
		p.identity = a.Identity
	}
	for _, path := range a.RequiresReplace {
		p.requires = append(p.requires, pathOf(path))
	}
	return s.contradiction("plan", a.LegacyTypes, s.ty.CheckPlan(p.prior, p.config, p.planned))
}

// contradiction returns the error of an answer that contradicts what was configured or planned. Old
// SDKs do that, and state it; then it is logged.
func (s *calls) contradiction(what string, legacy bool, found []value.Violation) error {
	switch {
	case len(found) == 0:
		return nil
	case !legacy:
		return s.meta.contradicts(what, found)
	}
	for _, v := range found[:min(len(found), maxLines)] {
		s.ctx.Debug(fmt.Sprintf("the %s of the provider differs: %s", what, v))
	}
	return nil
}

// encode encodes values of the resource.
func (s *calls) encode(values map[*wire.DynamicValue]cty.Value) error {
	for to, v := range values {
		var err error
		if *to, err = encode(s.ty, v); err != nil {
			return broken(err)
		}
	}
	return nil
}

// result is the answer to an apply.
type result struct {
	now     *live // nil: there is no object
	err     error // of the provider
	broken  bool  // there is no readable answer: the effect is not known
	stopped bool  // the provider was stopped during the call
}

// apply executes a plan. The state in the result has to be kept whatever its error is.
func (s *calls) apply(p *plan) (out result) {
	q := wire.Apply{Type: s.meta.theirs, Private: p.private, Identity: p.identity}
	if out.err = s.encode(map[*wire.DynamicValue]cty.Value{&q.Prior: p.prior, &q.Planned: p.planned,
		&q.Config: p.config}); out.err != nil {
		return out
	}
	var a wire.ApplyAnswer
	failed, stopped, err := s.do(provider.Retryable,
		func(ctx context.Context, c *process.Call) (_ []wire.Diagnostic, err error) {
			a, err = c.Apply(ctx, q)
			return a.Diagnostics, err
		})
	if err != nil {
		return result{err: err, broken: true}
	}
	out.err, out.stopped = failed, stopped
	state, err := s.decode(a.State)
	if err != nil {
		out.broken = true
		if out.err == nil {
			out.err = err
		}
		return out
	}
	return s.answered(p, &a, state, out)
}

// answered completes the result by the state of an answer. Unknown parts of it become null, so that it
// can be kept.
func (s *calls) answered(p *plan, a *wire.ApplyAnswer, state cty.Value, out result) result {
	if a.LegacyTypes {
		state = s.ty.Normalize(state)
	}
	if out.err == nil {
		out.err = s.contradiction("result", a.LegacyTypes, s.ty.CheckApply(p.planned, state))
	}
	if !state.IsWhollyKnown() {
		state = cty.UnknownAsNull(state)
	}
	if state.IsNull() {
		return out
	}
	out.now = &live{state: state, private: a.Private, identity: p.identity}
	if !a.Identity.Absent() {
		out.now.identity = a.Identity
	}
	return out
}

// upgrade returns the state of a record in the present schema.
func (s *calls) upgrade(r *record) (cty.Value, error) {
	var v wire.DynamicValue
	err := s.ask(provider.Terminal, func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		v, d, err = c.UpgradeState(ctx, s.meta.theirs, r.Version, r.State)
		return d, err
	})
	if err != nil {
		return cty.NilVal, err
	}
	return s.stateIn(v)
}

// checked validates a configuration and plans it.
func (s *calls) checked(prior *live, config cty.Value) (*plan, error) {
	if err := s.validate(config); err != nil {
		return nil, err
	}
	return s.plan(prior, config)
}

// computed logs which values are known after the apply only.
func (s *calls) computed(paths []cty.Path) {
	if len(paths) > 0 {
		s.ctx.Info("known after apply: " + s.meta.places(paths))
	}
}
