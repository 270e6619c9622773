package providertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// mostTogether bounds how many sets of values are tried at once.
const mostTogether = 6

// varied returns the attributes of Edges for which values are made up.
func (e *env) varied() []*schema.CompiledAttribute {
	var out []*schema.CompiledAttribute
	for _, a := range e.typ.Attributes {
		_, unfit := e.Unfit[a.Name]
		wanted := slices.Contains(e.Edges, "*") || slices.Contains(e.Edges, a.Name)
		if unfit || !wanted || a.Behaviour == schema.Namevar || a.Behaviour == schema.ReadOnly || a.Name == provider.ProviderAttribute {
			continue
		}
		if compiled, ok := e.typ.Attribute(a.Name); ok {
			out = append(out, compiled)
		}
	}
	return out
}

// together sets all attributes of Updates and Edges at once, and then each by itself while the others stay.
func together(e *env) error {
	if e.Present || e.Lasting {
		return errNotApplicable
	}
	if err := e.least(); err != nil {
		return err
	}
	base, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	sets := e.sets()
	for i, set := range sets {
		r, err := e.want(e.Attributes, set)
		if err != nil {
			continue // the type refuses them together
		}
		if err := e.atOnce(base, r); err != nil {
			return fmt.Errorf("set %d of values at once (%v): %w", i+1, slices.Sorted(maps.Keys(set)), err)
		}
		for name := range set {
			if err := e.alone(r, name); err != nil {
				return fmt.Errorf("%s set back to what it was, and nothing else: %w", name, err)
			}
		}
	}
	return nil
}

// least creates the thing with what has to be given, what is unfit, and nothing else.
func (e *env) least() error {
	attrs := map[string]any{}
	for name, v := range e.Attributes {
		a, ok := e.typ.Attribute(name)
		if _, unfit := e.Unfit[name]; !ok || unfit || a.Behaviour == schema.Namevar || a.Behaviour == schema.Parameter || a.Default == nil && !a.DataType.Optional() {
			attrs[name] = v
		}
	}
	r, err := e.want(attrs)
	if err != nil {
		return nil // the type wants more than that
	}
	if _, err := e.apply(r); err != nil {
		if provider.ClassOf(err) == provider.NeedsChange {
			return nil
		}
		return fmt.Errorf("with nothing but what has to be given: %w", err)
	}
	if err := e.settled(r); err != nil {
		return fmt.Errorf("with nothing but what has to be given: %w", err)
	}
	_, err = e.apply(purged(r))
	return err
}

// sets returns values to set at once: all updates laid over each other, and columns of the values at the edges.
func (e *env) sets() []map[string]any {
	var out []map[string]any
	all := map[string]any{}
	for _, u := range e.Updates {
		for name, v := range u {
			if v != nil {
				all[name] = v
			}
		}
	}
	if len(all) > 0 {
		out = append(out, all)
	}
	for i := range mostTogether {
		set := map[string]any{}
		for k, a := range e.varied() {
			if values := a.DataType.Edges(); len(values) > i && a.Behaviour != schema.Parameter {
				set[a.Name] = values[(i+k)%len(values)]
			}
		}
		if len(set) > 1 {
			out = append(out, set)
		}
	}
	return out
}

// atOnce brings about a set by an update, as far as that may be, and then by a create.
func (e *env) atOnce(base, r provider.Resource) error {
	for _, before := range []provider.Resource{purged(base), base} {
		if _, err := e.apply(before); err != nil {
			return err
		}
	}
	later := r
	later.Attributes = maps.Clone(r.Attributes)
	for i := range e.typ.Attributes {
		if a := &e.typ.Attributes[i]; a.Behaviour == schema.InitOnly {
			if delete(later.Attributes, a.Name); base.Attributes[a.Name] != nil {
				later.Attributes[a.Name] = base.Attributes[a.Name]
			}
		}
	}
	if _, problems := e.typ.Check(later.Attributes); len(problems) == 0 {
		if refused, err := e.brings(later); refused || err != nil {
			return err
		}
	}
	if _, err := e.apply(purged(r)); err != nil {
		return err
	}
	_, err := e.brings(r)
	return err
}

// brings applies r, which may be refused.
func (e *env) brings(r provider.Resource) (refused bool, err error) {
	if _, err = e.apply(r); err != nil {
		var fixed *initOnlyError
		if errors.As(err, &fixed) || provider.ClassOf(err) == provider.NeedsChange {
			return true, nil
		}
		return false, err
	}
	return false, e.settled(r)
}

// alone sets one attribute of r back to what it is in the case, and then to what r has, while the others stay as they are in r.
func (e *env) alone(r provider.Resource, name string) error {
	back := r
	back.Attributes = maps.Clone(r.Attributes)
	base, err := e.want(e.Attributes)
	if err != nil || base.Attributes[name] == nil || resource.Equal(base.Attributes[name], r.Attributes[name]) {
		return err
	}
	back.Attributes[name] = base.Attributes[name]
	if _, problems := e.typ.Check(back.Attributes); len(problems) > 0 {
		return nil
	}
	obs, err := e.read(r, false)
	if err != nil {
		return err
	}
	if change, _, err := e.decide(r, obs); err != nil || change != plan.NoChange {
		return nil // the set was refused
	}
	for _, next := range []provider.Resource{back, r} {
		if refused, err := e.brings(next); refused || err != nil {
			return err
		}
	}
	return nil
}
