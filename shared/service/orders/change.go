package orders

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/callback"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Wish holds the fields that all changes of an instance have.
type Wish struct {
	Ref
	// Version is the version that the caller has read; nil: any version.
	Version *int64
	// Message is the reason of the change, for readers of the events.
	Message string
}

// step derives a change of an instance.
type step func(f *found) (inventory.Change, error)

// tries is the number of attempts of a change, if the worker updates the instance concurrently.
const tries = 20

// change writes a change of an instance.
func (s *changes) change(
	ctx context.Context, env string, w Wish, kind string, do step,
) (Instance, error) {
	for n := 1; ; n++ {
		f, err := s.prepared(ctx, env, w, kind, do)
		if err != nil {
			return Instance{}, err
		}
		out, err := s.written(ctx, env, &f)
		if fault.Is(err, fault.Conflict) && n < tries {
			continue // the next attempt checks the version of the caller
		}
		if err != nil {
			return Instance{}, s.explained(ctx, env, &f, err)
		}
		return out, nil
	}
}

// written writes a change and returns the changed instance.
func (s *changes) written(ctx context.Context, env string, f *changed) (Instance, error) {
	revs, err := s.Instances.Write(ctx, env, []inventory.Change{f.change})
	if err != nil {
		return Instance{}, err
	}
	s.Changed(env)
	f.record.Rev = revs[0]
	return s.whole(ctx, env, &f.found)
}

// prepared returns the change of an instance without writing it.
func (s *changes) prepared(
	ctx context.Context, env string, w Wish, kind string, do step,
) (changed, error) {
	f, err := s.find(ctx, env, w.Ref)
	if err != nil {
		return changed{}, err
	}
	if err := seen(w.Version, &f.record); err != nil {
		return changed{}, err
	}
	was := f.record.State
	c, err := do(&f)
	if err != nil {
		return changed{}, err
	}
	if len(c.Events) == 0 { // a validation begins, or the state does not change
		c.Events = []inventory.Event{{
			At: c.Record.Updated, Version: c.Record.Version, Kind: kind, From: was,
		}}
		if to := c.Record.Validating; to != "" {
			c.Events[0].Message = "it is validated before it goes to " + to
		}
	}
	if w.Message != "" {
		c.Events[0].Message = w.Message
	}
	f.record = c.Record
	return changed{found: f, change: c}, nil
}

// seen rejects a change of a caller who has read another version.
func seen(version *int64, r *inventory.Record) error {
	if version == nil || *version == r.Version {
		return nil
	}
	return fault.New(fault.Conflict, "", "the instance %s has the version %d, and not %d",
		r.ID, r.Version, *version).WithHint("read it again, and decide again")
}

// Update sets some attributes. Other attributes stay.
func (s *changes) Update(
	ctx context.Context, env string, w Wish, attributes map[string]any,
) (Instance, error) {
	return s.change(ctx, env, w, string(lifecycle.ByUpdate), s.update(ctx, env, attributes, nil))
}

func (s *changes) update(
	ctx context.Context, env string, attributes map[string]any, names names,
) step {
	return s.toLatest(ctx, env, func(f *found) (inventory.Change, error) {
		given, lost := s.resolved(ctx, env, &f.def, attributes, names,
			inventory.PointerRoot)
		c, err := inventory.Update(&f.def, f.record, given, f.record.Version, s.now())
		return c, both(lost, err)
	})
}

// toLatest runs a step with the definition that the instance has after an update.
func (s *core) toLatest(ctx context.Context, env string, do step) step {
	return func(f *found) (inventory.Change, error) {
		var err error
		if f.def, err = s.latest(ctx, env, &f.record); err != nil {
			return inventory.Change{}, err
		}
		return do(f)
	}
}

// Edit applies edits. An edit with the target "." sets attributes as Update does.
func (s *changes) Edit(
	ctx context.Context, env string, w Wish, edits []inventory.Edit,
) (Instance, error) {
	return s.change(ctx, env, w, string(lifecycle.ByUpdate), s.edit(ctx, env, edits, nil))
}

func (s *changes) edit(
	ctx context.Context, env string, edits []inventory.Edit, names names,
) step {
	return s.toLatest(ctx, env, func(f *found) (inventory.Change, error) {
		all, err := s.edits(ctx, env, &f.def, edits, names)
		if err != nil {
			return inventory.Change{}, err
		}
		return inventory.UpdateByEdits(&f.def, f.record, all, f.record.Version, s.now())
	})
}

// Replace replaces all attributes: missing attributes that customers may change get their defaults.
// With ignore, read-only attributes in the request are ignored.
func (s *changes) Replace(
	ctx context.Context, env string, w Wish, attributes map[string]any, ignore bool,
) (Instance, error) {
	return s.change(ctx, env, w, string(lifecycle.ByUpdate),
		s.toLatest(ctx, env, func(f *found) (inventory.Change, error) {
			all := attributes
			if ignore {
				all = inventory.Writable(&f.def, all)
			}
			given, lost := s.resolved(ctx, env, &f.def, all, nil,
				inventory.PointerRoot)
			c, err := inventory.ReplaceAll(&f.def, f.record, given, f.record.Version, s.now())
			return c, both(lost, err)
		}))
}

// EditSet applies edits to one of the sets of attributes: candidate, active or rollback. It is for
// experts and ignores modifiers.
func (s *experts) EditSet(
	ctx context.Context, env string, w Wish, set string, edits []inventory.Edit,
) (Instance, error) {
	return s.change(ctx, env, w, string(lifecycle.ByForce),
		func(f *found) (inventory.Change, error) {
			all, err := s.edits(ctx, env, &f.def, edits, nil)
			if err != nil {
				return inventory.Change{}, err
			}
			return inventory.EditSet(&f.def, f.record, set, all, f.record.Version, s.now())
		})
}

// Destroy ends an instance without a transfer, for experts. The instance enters the first deleted
// state of its lifecycle, and its resources leave the model.
func (s *experts) Destroy(ctx context.Context, env string, w Wish) (Instance, error) {
	return s.acting(ctx, env, "destroy", w, "", func() (Instance, error) {
		return s.destroy(ctx, env, w)
	})
}

func (s *experts) destroy(ctx context.Context, env string, w Wish) (Instance, error) {
	return s.change(ctx, env, w, callback.KindForceDelete,
		func(f *found) (inventory.Change, error) {
			if f.record.Deleted {
				return inventory.Change{}, fault.New(fault.Conflict, "",
					"the instance %s is deleted", f.record.ID)
			}
			states := f.def.Lifecycle.States
			n := slices.IndexFunc(states, func(s lifecycle.State) bool { return s.Deleted })
			if n < 0 {
				return inventory.Change{}, fault.New(fault.Conflict, "",
					"the lifecycle of %s has no state that is deleted", f.def.Name).
					WithHint("give a state of the lifecycle deleted=true in the model")
			}
			c, err := inventory.Advance(&f.def, f.record, lifecycle.Force{
				Target: states[n].Name, Version: f.record.Version,
			}, s.now())
			if err == nil {
				c.Events[0].Kind = callback.KindForceDelete
			}
			return c, err
		})
}

// edits returns edits with ids instead of names. It splits an edit of "." into an edit for each
// attribute.
func (s *changes) edits(
	ctx context.Context, env string, d *definition.Service, given []inventory.Edit, names names,
) ([]inventory.Edit, error) {
	if len(given) == 0 {
		return nil, fault.New(fault.Invalid, "", "there are no edits")
	}
	var out []inventory.Edit
	var problems diag.Problems
	for _, e := range given {
		if e.Target != "." {
			v, wrong, err := s.edited(ctx, env, d, e, names)
			if err != nil {
				return nil, err
			}
			problems = append(problems, wrong...)
			e.Value = v
			out = append(out, e)
			continue
		}
		m, ok := e.Value.(map[string]any)
		if !ok || e.Operation == inventory.Remove {
			problems.Add(diag.Problem{
				Attribute: ".", Code: inventory.CodeEdit,
				Message: "all attributes are replaced, or merged, with an object",
			})
			continue
		}
		m, err := s.resolved(ctx, env, d, m, names, "")
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			one := inventory.Edit{ID: e.ID, Operation: e.Operation, Value: m[name]}
			one.Target = inventory.Path{{Name: name}}.String()
			out = append(out, one)
		}
	}
	return out, problems.Err()
}

// Delete requests the end of an instance.
func (s *changes) Delete(ctx context.Context, env string, w Wish) (Instance, error) {
	return s.change(ctx, env, w, string(lifecycle.ByDelete), s.event(func(v int64) lifecycle.Event {
		return lifecycle.Delete{Version: v}
	}))
}

// event returns the step for an event of the lifecycle.
func (s *changes) event(of func(version int64) lifecycle.Event) step {
	return func(f *found) (inventory.Change, error) {
		return inventory.Advance(&f.def, f.record, of(f.record.Version), s.now())
	}
}

// SetState requests another state, which needs a transfer with api_set_state.
func (s *changes) SetState(
	ctx context.Context, env string, w Wish, target string,
) (Instance, error) {
	return s.acting(ctx, env, "set_state", w, target, func() (Instance, error) {
		return s.change(ctx, env, w, string(lifecycle.BySetState),
			s.event(func(v int64) lifecycle.Event {
				return lifecycle.SetState{Target: target, Version: v}
			}))
	})
}

// Force sets a state without a transfer, and applies an operation to the sets of attributes.
func (s *experts) Force(
	ctx context.Context, env string, w Wish, target string, o lifecycle.Operation,
) (Instance, error) {
	return s.acting(ctx, env, "force_state", w, target, func() (Instance, error) {
		return s.change(ctx, env, w, string(lifecycle.ByForce),
			s.event(func(v int64) lifecycle.Event {
				return lifecycle.Force{Target: target, Operation: o, Version: v}
			}))
	})
}

// Migrate gives an instance the definition of a version of its service, other attributes and
// another state.
func (s *experts) Migrate(
	ctx context.Context, env string, w Wish, version int, m inventory.Migration,
) (Instance, error) {
	return s.change(ctx, env, w, string(lifecycle.ByForce),
		func(f *found) (inventory.Change, error) {
			var err error
			f.def, err = s.Definitions.One(ctx, env, f.record.Service, version)
			if err != nil {
				return inventory.Change{}, err
			}
			all, lost := m, error(nil)
			for _, set := range []*map[string]any{&all.Candidate, &all.Active, &all.Rollback} {
				if *set != nil {
					is, err := s.resolved(ctx, env, &f.def, *set, nil, "")
					*set, lost = is, both(lost, err)
				}
			}
			c, err := inventory.Migrate(&f.def, f.record, all, f.record.Version, s.now())
			return c, both(lost, err)
		})
}

// Configure turns automatic transfers on and off, by the names of their settings.
func (s *changes) Configure(
	ctx context.Context, env string, w Wish, values map[string]bool,
) (Instance, error) {
	if len(values) == 0 { // clients send an empty map if nothing changed
		f, err := s.find(ctx, env, w.Ref)
		if err == nil {
			err = seen(w.Version, &f.record)
		}
		if err != nil {
			return Instance{}, err
		}
		return s.whole(ctx, env, &f)
	}
	return s.change(ctx, env, w, "configure", func(f *found) (inventory.Change, error) {
		r, err := s.configured(&f.def, f.record, values)
		return inventory.Change{Record: r}, err
	})
}

// configured returns an instance with changed settings.
func (s *changes) configured(
	d *definition.Service, r inventory.Record, values map[string]bool,
) (inventory.Record, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c, err := inventory.Advance(d, r, lifecycle.Configure{
			Name: name, On: values[name], Version: r.Version,
		}, s.now())
		if err != nil {
			return r, err
		}
		r = c.Record
	}
	return r, nil
}

// SetMetadata stores a text under a key of an instance; nil removes the key.
func (s *changes) SetMetadata(
	ctx context.Context, env string, w Wish, key string, value *string,
) (Instance, error) {
	return s.change(ctx, env, w, "metadata", func(f *found) (inventory.Change, error) {
		r := f.record
		m := maps.Clone(r.Metadata)
		if m == nil {
			m = map[string]string{}
		}
		delete(m, key)
		if value != nil {
			m[key] = *value
		}
		if err := metadata(m); err != nil {
			return inventory.Change{}, err
		}
		r.Metadata, r.Updated = m, s.now()
		return inventory.Change{Record: r}, nil
	})
}
