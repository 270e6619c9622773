package providertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// maxTogether bounds how many sets of values are tried at once.
const maxTogether = 6

// variedAttributes returns the attributes of Edges for which values are made up.
func variedAttributes(e *env) []*schema.CompiledAttribute {
	var out []*schema.CompiledAttribute
	for _, a := range e.typ.Attributes {
		_, unfit := e.Unfit[a.Name]
		wanted := slices.Contains(e.Edges, "*") || slices.Contains(e.Edges, a.Name)
		if unfit || !wanted || a.Behaviour == schema.Namevar || a.Behaviour == schema.ReadOnly ||
			a.Name == provider.ProviderAttribute {
			continue
		}
		if compiled, ok := e.typ.Attribute(a.Name); ok {
			out = append(out, compiled)
		}
	}
	return out
}

// together sets all attributes of Updates and Edges at once, and then each by itself while the
// others stay.
func together(e *env) error {
	if e.Present || e.Lasting {
		return errNotApplicable
	}
	if err := checkLeast(e); err != nil {
		return err
	}
	base, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	sets := attributeSets(e)
	for i, set := range sets {
		r, err := e.want(e.Attributes, set.values)
		if err != nil {
			continue // the type refuses them together
		}
		if err := allAtOnce(e, base, r); err != nil {
			return fmt.Errorf("set %d of values at once (%v): %w", i+1,
				slices.Sorted(maps.Keys(set.values)), err)
		}
		for _, names := range set.parts {
			if err := changedAlone(e, r, names); err != nil {
				return fmt.Errorf("%s set back to what it was, and nothing else: %w",
					strings.Join(names, ", "), err)
			}
		}
	}
	return nil
}

// checkLeast creates the thing with what has to be given, what is unfit, and nothing else.
func checkLeast(e *env) error {
	attrs := map[string]any{}
	for name, v := range e.Attributes {
		a, ok := e.typ.Attribute(name)
		if _, unfit := e.Unfit[name]; !ok || unfit || a.Behaviour == schema.Namevar ||
			a.Behaviour == schema.Parameter || a.Default == nil && !a.DataType.Optional() {
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
		return doubted("take what cannot be made up into Unfit; what a thing cannot be without is "+
			"not Optional in the type, or stands in its Rules",
			"with nothing but what has to be given: %w", err)
	}
	if err := checkConverged(e, r); err != nil {
		return fmt.Errorf("with nothing but what has to be given: %w", err)
	}
	if err := checkEcho(e, attrs, r); err != nil {
		return err
	}
	_, err = e.apply(purged(r))
	return err
}

// checkEcho wants other values for what was left out when r was made: it cannot be as each of them.
func checkEcho(e *env, attrs map[string]any, r provider.Resource) error {
	_, compares := provider.As[provider.Differ](e.handler)
	_, syncs := provider.As[provider.InSyncer](e.handler)
	_, forms := provider.As[provider.Canonicaliser](e.handler)
	if compares || syncs || forms {
		return nil // several values may be the same to it
	}
	for i := range e.typ.Attributes {
		a, _ := e.typ.Attribute(e.typ.Attributes[i].Name)
		if a.Behaviour != schema.Property || r.Attributes[a.Name] != nil {
			continue
		}
		var same []any
		for _, v := range twoValues(e, a) {
			next, err := e.want(attrs, map[string]any{a.Name: v})
			if err != nil {
				break
			}
			obs, err := e.read(next, false)
			if err != nil {
				return err
			}
			if change, _, err := e.decide(next, obs); err == nil && change == diff.NoChange {
				same = append(same, v)
			}
		}
		if len(same) > 1 {
			return advise("let Read report what it really finds, and nil where there is nothing",
				"%s was left out, and is read as what is wanted, whatever that is: %s, and then %s",
				a.Name, shown(same[0], a.Sensitive), shown(same[1], a.Sensitive))
		}
	}
	return nil
}

// twoValues returns two different values of an attribute, if there are that many: those of the
// case, and made-up ones.
func twoValues(e *env, a *schema.CompiledAttribute) []any {
	all := []any{e.Attributes[a.Name]}
	for _, u := range e.Updates {
		all = append(all, u[a.Name])
	}
	if slices.Contains(variedAttributes(e), a) {
		all = append(all, a.DataType.Edges()...)
	}
	var out []any
	for _, v := range all {
		if v != nil && len(out) < 2 && (len(out) == 0 || !resource.Equal(out[0], v)) {
			out = append(out, v)
		}
	}
	return out
}

// set is values to be set at once. Its parts are attributes that can be set without the others.
type set struct {
	values map[string]any
	parts  [][]string
}

// attributeSets returns all updates laid over each other, and columns of the values at the edges.
func attributeSets(e *env) []set {
	all := set{values: map[string]any{}}
	for _, u := range e.Updates {
		var part []string // what an update of the case sets belongs together
		for name, v := range u {
			if v != nil {
				all.values[name] = v
				part = append(part, name)
			}
		}
		slices.Sort(part)
		all.parts = append(all.parts, part)
	}
	var out []set
	if len(all.values) > 0 {
		out = append(out, all)
	}
	for i := range maxTogether {
		column := set{values: map[string]any{}}
		for k, a := range variedAttributes(e) {
			if values := a.DataType.Edges(); len(values) > i && a.Behaviour != schema.Parameter {
				column.values[a.Name] = values[(i+k)%len(values)]
				column.parts = append(column.parts, []string{a.Name})
			}
		}
		if len(column.values) > 1 {
			out = append(out, column)
		}
	}
	return out
}

// allAtOnce brings about a set by an update, as far as that may be, and then by a create.
func allAtOnce(e *env, base, r provider.Resource) error {
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
	if _, err := e.checked(later.Attributes); err == nil {
		if refused, err := brings(e, later); refused || err != nil {
			return err
		}
	}
	if _, err := e.apply(purged(r)); err != nil {
		return err
	}
	_, err := brings(e, r)
	return err
}

// brings applies r, which may be refused.
func brings(e *env, r provider.Resource) (refused bool, err error) {
	if _, err = e.apply(r); err != nil {
		var fixed *initOnlyError
		if errors.As(err, &fixed) || provider.ClassOf(err) == provider.NeedsChange {
			return true, nil
		}
		return false, err
	}
	return false, checkConverged(e, r)
}

// changedAlone sets some attributes of r back to what they are in the case, and then to what r has,
// while the others stay as they are in r.
func changedAlone(e *env, r provider.Resource, names []string) error {
	base, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	back, differs := r, false
	back.Attributes = maps.Clone(r.Attributes)
	for _, name := range names {
		if base.Attributes[name] == nil {
			return nil // it is not managed then
		}
		differs = differs || !resource.Equal(base.Attributes[name], r.Attributes[name])
		back.Attributes[name] = base.Attributes[name]
	}
	if _, err := e.checked(back.Attributes); err != nil || !differs {
		return nil
	}
	obs, err := e.read(r, false)
	if err != nil {
		return err
	}
	if change, _, err := e.decide(r, obs); err != nil || change != diff.NoChange {
		return nil // the set was refused
	}
	for _, next := range []provider.Resource{back, r} {
		if refused, err := brings(e, next); refused || err != nil {
			return err
		}
	}
	return nil
}
