package tf

import (
	"errors"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/tf/wire"
)

// handler manages the objects of one resource type of a provider.
type handler struct {
	bridge   *bridge
	meta     meta
	identity []string // the attributes by which the engine distinguishes two objects
}

// carried is what Read passes to the later calls of a run.
type carried struct {
	now     *live // nil: there is no object
	update  *plan // of the update to the desired configuration; nil: none was made
	replace *plan // of the create that replaces the object; nil: none was made
}

func carriedBy(o any) *carried {
	c, _ := o.(*carried)
	return c
}

// Keeps implements provider.Keeper.
func (h *handler) Keeps(provider.Resource) bool { return true }

// Read implements provider.Handler. An object of which no state is kept exists if it can be imported.
func (h *handler) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	s, err := h.bridge.open(ctx, &h.meta, req.Resource)
	if err != nil {
		return provider.Observation{}, err
	}
	defer s.close()
	k, was, upgraded, err := s.load()
	if err != nil {
		return provider.Observation{}, err
	}
	var now *live
	id, _ := req.Resource.Attributes[attrImport].(string)
	switch {
	case was != nil && id != "" && was.imported != "" && was.imported != id:
		err = provider.Errorf(provider.NeedsChange, "%s is %q, and the resource manages the object that was "+
			"imported as %q; write that again, and describe another object by a resource of its own",
			attrImport, id, was.imported)
	case was != nil:
		now, err = s.read(was)
	case id != "":
		now, err = s.adopt(wire.Import{ID: id})
	}
	if err != nil || now == nil {
		return provider.Observation{Carried: &carried{}}, err
	}
	changed := was == nil || upgraded || was.doubtful || !was.state.RawEquals(now.state)
	if changed && !ctx.DryRun() {
		err = s.keep(k, now)
	}
	if !ctx.DryRun() {
		s.report(now)
	}
	return provider.Observation{Exists: true, Attributes: h.meta.reported(s.ty.Attributes(now.state)),
		Carried: &carried{now: now}}, err
}

// Create implements provider.Handler.
func (h *handler) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	s, err := h.bridge.open(ctx, &h.meta, req.Resource)
	if err != nil {
		return provider.Result{}, nothingMade(err)
	}
	defer s.close()
	c := carriedBy(req.Carried)
	p, err := s.planCreate(c, req.Resource)
	if err != nil {
		return provider.Result{}, nothingMade(err)
	}
	k, old, err := s.setAside(c)
	if err != nil {
		return provider.Result{}, nothingMade(err)
	}
	err = s.created(k, s.apply(p), req.Token)
	if old != nil && errors.Is(err, provider.ErrNothingMade) {
		k.Deposed = k.Deposed[:len(k.Deposed)-1]
		err = errors.Join(err, s.keep(k, old))
	}
	return provider.Result{}, err
}

// planCreate returns the plan of a create: the carried one, if it is one for the same configuration.
func (s *session) planCreate(c *carried, r provider.Resource) (*plan, error) {
	config, err := s.config(r)
	if err != nil {
		return nil, err
	}
	if c != nil {
		if p := c.replace.of(config); p != nil {
			return p, nil
		}
	}
	return s.checked(nil, config)
}

// nothingMade marks an error before the create itself.
func nothingMade(err error) error { return provider.With(err, provider.ErrNothingMade) }

// of returns the plan if it is one for a configuration, else nil.
func (p *plan) of(config cty.Value) *plan {
	if p == nil || !p.config.RawEquals(config) {
		return nil
	}
	return p
}

// setAside prepares the kept state for a create. The state of an object that exists, and that is to be
// deleted afterwards, is set aside and returned. The state of one that no longer exists is removed. So
// a state that is there later is that of the new object.
func (s *session) setAside(c *carried) (k *kept, old *live, err error) {
	k, old, _, err = s.load()
	switch {
	case err != nil || old == nil:
		return k, nil, err
	case c != nil:
		old = c.now
	default:
		if old, err = s.read(old); err != nil {
			return nil, nil, err
		}
	}
	if old != nil {
		r, err := s.record(old)
		if err != nil {
			return nil, nil, err
		}
		k.Deposed = append(k.Deposed, *r)
	}
	return k, old, s.keep(k, nil)
}

// created keeps the result of a create. If it failed and there is an object, the object is tainted, and
// the next run replaces it.
func (s *session) created(k *kept, r result, token string) error {
	if r.now != nil {
		r.now.token, r.now.tainted = token, r.err != nil && !terminal(r.err)
		if err := s.keep(k, r.now); err != nil {
			return errors.Join(r.err, err)
		}
		if r.err == nil {
			s.report(r.now)
		}
		return r.err
	}
	switch {
	case r.err == nil:
		return provider.Errorf(provider.Terminal, "the provider has created the object and has not "+
			"answered its state; report it to its authors")
	case r.broken, r.stopped, terminal(r.err):
		return r.err
	}
	return nothingMade(r.err)
}

// terminal reports whether an error of an apply is about the form of the answer: the change was made.
func terminal(err error) bool { return provider.ClassOf(err) == provider.Terminal }

// Update implements provider.Handler.
func (h *handler) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	s, err := h.bridge.open(ctx, &h.meta, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	defer s.close()
	return provider.Result{}, s.update(req.Resource, carriedBy(req.Observed.Carried))
}

func (s *session) update(r provider.Resource, c *carried) error {
	k, now, _, err := s.load()
	if err != nil {
		return err
	}
	if c != nil {
		now = c.now
	}
	if now == nil {
		return provider.Errorf(provider.Retryable, "the state of the object was removed since it was read")
	}
	config, err := s.config(r)
	if err != nil {
		return err
	}
	var p *plan
	if c != nil {
		p = c.update.of(config)
	}
	if p == nil {
		if p, err = s.checked(now, config); err != nil {
			return err
		}
	}
	changes := s.ty.Changes(p.prior, p.planned, p.config)
	switch {
	case len(s.ty.Replacements(p.requires, p.prior, p.planned)) > 0:
		return provider.Errorf(provider.Retryable, "the provider now requires a replacement")
	case len(changes.Changed) == 0 && len(changes.Computed) == 0:
		return nil // a write-only attribute, for example, on whose version the provider acts
	}
	return s.updated(k, now, s.apply(p))
}

// updated keeps the result of an update.
func (s *session) updated(k *kept, was *live, r result) error {
	if r.now == nil {
		if r.err == nil {
			r.err = provider.Errorf(provider.Terminal, "the provider has not answered the state of the "+
				"updated object; report it to its authors")
		}
		return r.err // what was kept before stays
	}
	r.now.token, r.now.tainted, r.now.imported = was.token, was.tainted, was.imported
	r.now.doubtful = r.err != nil && !terminal(r.err)
	if err := s.keep(k, r.now); err != nil {
		return errors.Join(r.err, err)
	}
	if r.err == nil {
		s.report(r.now)
	}
	return r.err
}

// Delete implements provider.Handler. Without a carried state, the object may be one that was replaced
// before it was deleted.
func (h *handler) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	s, err := h.bridge.open(ctx, &h.meta, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	defer s.close()
	k, now, _, err := s.load()
	if err != nil {
		return provider.Result{}, err
	}
	if c := carriedBy(req.Observed.Carried); c != nil && c.now != nil {
		return provider.Result{}, s.remove(c.now, func(left *live) error { return s.keep(k, left) })
	}
	if now != nil && h.same(s, now, req.Observed.Attributes) {
		return provider.Result{}, s.remove(now, func(left *live) error { return s.keep(k, left) })
	}
	return provider.Result{}, h.removeDeposed(s, k, now, req.Observed.Attributes)
}

// same reports whether an object has the observed identity.
func (h *handler) same(s *session, l *live, observed map[string]any) bool {
	have := h.meta.reported(s.ty.Attributes(l.state))
	for _, name := range h.identity {
		if v := observed[name]; v != nil && !resource.Equal(v, have[name]) {
			return false
		}
	}
	return true
}

// removeDeposed deletes the object with the observed identity among those that were set aside, or the
// oldest if none has it: all of them are to be deleted.
func (h *handler) removeDeposed(s *session, k *kept, now *live, observed map[string]any) error {
	if len(k.Deposed) == 0 {
		return nil
	}
	at, object := -1, (*live)(nil)
	for i := range k.Deposed {
		l, _, err := s.live(&k.Deposed[i])
		if err != nil {
			return err
		}
		if at < 0 || h.same(s, l, observed) {
			at, object = i, l
			if h.same(s, l, observed) {
				break
			}
		}
	}
	return s.remove(object, func(left *live) error {
		if left == nil {
			k.Deposed = append(k.Deposed[:at:at], k.Deposed[at+1:]...)
			return s.keep(k, now)
		}
		r, err := s.record(left)
		if err != nil {
			return err
		}
		k.Deposed[at] = *r
		return s.keep(k, now)
	})
}

// remove deletes an object, and passes what is left of it to keep.
func (s *session) remove(l *live, keep func(left *live) error) error {
	p := &plan{config: s.ty.Null(), prior: l.state, planned: s.ty.Null(), private: l.private,
		identity: l.identity}
	if s.program.schemas.Capabilities.PlanDestroy {
		planned, err := s.plan(l, s.ty.Null())
		if err != nil {
			return err
		}
		p = planned
	}
	return s.removed(l, s.apply(p), keep)
}

// removed passes what a deletion has left to keep, or nil.
func (s *session) removed(l *live, r result, keep func(left *live) error) error {
	switch {
	case r.broken:
		return r.err
	case r.err == nil && r.now == nil:
		return keep(nil)
	case r.now == nil: // an error without a state: what was there may still be there
		return r.err
	}
	r.now.tainted, r.now.token, r.now.imported = l.tainted, l.token, l.imported
	r.now.doubtful = true
	if r.err == nil {
		r.err = provider.Errorf(provider.Terminal, "the provider has answered a state of the deleted object; "+
			"report it to its authors")
	}
	if err := keep(r.now); err != nil {
		return errors.Join(r.err, err)
	}
	return r.err
}
