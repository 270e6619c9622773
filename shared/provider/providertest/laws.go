package providertest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// canonical tries the laws of canonical forms with the values of the case, and with those at the
// edges of the types.
func canonical(e *env) error {
	c, ok := provider.As[provider.Canonicaliser](e.handler)
	if !ok {
		return errNotApplicable
	}
	all, err := allStates(e)
	if err != nil {
		return err
	}
	for i := range e.Updates {
		r, err := e.want(e.Attributes, e.Updates[i])
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, a := range variedAttributes(e) {
		for _, v := range a.DataType.Edges() {
			if r, err := e.want(e.Attributes, map[string]any{a.Name: v}); err == nil {
				all = append(all, r)
			}
		}
	}
	for _, r := range all {
		if err := canonicalOf(e, c, r); err != nil {
			return err
		}
	}
	return nil
}

// canonicalOf demands that the canonical form of a resource has its attributes, with values of
// their types, and is its own canonical form.
func canonicalOf(e *env, c provider.Canonicaliser, r provider.Resource) error {
	var once, twice map[string]any
	err := e.call("Canonicalise", r,
		func() (err error) { once, err = c.Canonicalise(r.Attributes); return err })
	if err != nil {
		return nil // the value is refused; others checks see whether that is right
	}
	again := r
	again.Attributes = once
	if err := e.call("Canonicalise", again,
		func() (err error) { twice, err = c.Canonicalise(once); return err }); err != nil {
		return err
	}
	if !reflect.DeepEqual(once, twice) {
		return fmt.Errorf("the canonical form of %v is %v", once, twice)
	}
	for name, v := range once {
		a, ok := e.typ.Attribute(name)
		switch {
		case !ok:
			return fmt.Errorf("the canonical form has %s, which is not declared", name)
		case v != nil && a.DataType.Check(v) != nil:
			return fmt.Errorf("the canonical form of %s is not of its type: %w", name,
				a.DataType.Check(v))
		case a.Behaviour == schema.Namevar && !reflect.DeepEqual(v, r.Attributes[name]):
			return advise(
				"leave naming attributes alone: the identity was made of them already; narrow "+
					"their type instead",
				"the canonical form names another thing: %s is %v and was %v", name, v,
				r.Attributes[name])
		}
	}
	for name, v := range r.Attributes {
		if _, ok := once[name]; !ok && v != nil {
			return fmt.Errorf("the canonical form lacks %s", name)
		}
	}
	return nil
}

// inSync tries the laws of a comparison of single attributes on values that were really there.
func inSync(e *env) error {
	s, ok := provider.As[provider.InSyncer](e.handler)
	if !ok || e.Present {
		return errNotApplicable
	}
	for name := range e.OneWay {
		if e.OneWay[name] == "" {
			return fmt.Errorf("the case does not say why %s is one-way", name)
		}
	}
	var seen []provider.Observation
	layers := []map[string]any{e.Attributes}
	for i := -1; i < len(e.Updates); i++ {
		if i >= 0 {
			layers = append(layers, e.Updates[i])
		}
		r, err := e.want(layers...)
		if err != nil {
			return err
		}
		if _, err := e.apply(r); err != nil {
			return err
		}
		obs, err := e.read(r, false)
		if err != nil {
			return err
		}
		seen = append(seen, obs)
	}
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	ask := func(name string, desired, observed any) (out provider.Sync, err error) {
		err = e.call("InSync", r, func() error {
			v, err := s.InSync(e.context("InSync", r, true), name, desired, observed)
			out = v.Sync
			return err
		})
		if out == provider.Undecided && err == nil {
			if out = provider.Differs; resource.Equal(desired, observed) {
				out = provider.Same
			}
		}
		return out, err
	}
	for _, name := range comparedAttributes(e) {
		for i := range seen {
			for j := i; j < len(seen); j++ {
				if err := bothWays(e, name, seen[i].Attributes[name], seen[j].Attributes[name],
					ask); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// bothWays demands that a value is in sync with itself, and that two are from both sides.
func bothWays(e *env, name string, a, b any,
	ask func(name string, desired, observed any) (provider.Sync, error)) error {
	if a == nil || b == nil {
		return nil
	}
	there, err := ask(name, a, b)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(a, b) && there != provider.Same {
		return fmt.Errorf("%s: %v is wanted and is there, and InSync says that it differs", name, a)
	}
	back, err := ask(name, b, a)
	if err != nil {
		return err
	}
	if _, oneWay := e.OneWay[name]; back != there && !oneWay {
		return advise(
			"compare so that it does not matter which of the two is wanted; where the handler "+
				"means to be content with more than what is wanted, say so in OneWay of the case",
			"%s: %v is in sync with %v from one side and not from the other", name, a, b)
	}
	return nil
}

// generates asks several times what follows from a resource, with values and with references in
// their place.
func generates(e *env) error {
	g, ok := provider.As[provider.Generator](e.handler)
	if !ok {
		return errNotApplicable
	}
	all, err := allStates(e)
	if err != nil {
		return err
	}
	for i := range all {
		all = append(all, purged(all[i]), unresolved(e, all[i]))
	}
	for _, r := range all {
		before, err := e.world()
		if err != nil {
			return err
		}
		var first []provider.Generated
		for i := range 10 {
			var list []provider.Generated
			if err := e.call("Generate", r,
				func() (err error) { list, err = g.Generate(r); return err }); err != nil {
				return fmt.Errorf("of %v: %w", r.Attributes, err)
			}
			if i == 0 {
				first = list
			} else if !reflect.DeepEqual(first, list) {
				return fmt.Errorf("from the same resource follows %v, and the next time %v", first,
					list)
			}
		}
		if err := checkUnchanged(e, before, "asking what follows from a resource"); err != nil {
			return err
		}
		for _, one := range first {
			if err := checkFollows(e, r, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFollows looks at one resource that follows from another.
func checkFollows(e *env, r provider.Resource, one provider.Generated) error {
	if !resource.ValidType(one.Type) {
		return fmt.Errorf("a resource follows of the type %q, which is not a name of one", one.Type)
	}
	for name := range one.Attributes {
		if v := one.Attributes[name]; v != nil && !plain(v) {
			return advise(
				"give values in the forms in which attributes have them: bool, string, int64, "+
					"float64, []any, map[string]any, or what stood in the resource",
				"%s of a %s that follows is a %T", name, one.Type, v)
		}
	}
	if one.Type != e.typ.Name {
		return nil
	}
	full, problems := e.typ.Check(one.Attributes)
	if len(problems) > 0 {
		return fmt.Errorf("a %s follows that is wrong: %s: %s", one.Type, problems[0].Attribute,
			problems[0].Message)
	}
	for _, name := range e.typ.Namevars() {
		if !reflect.DeepEqual(full[name], r.Attributes[name]) {
			return nil
		}
	}
	return errors.New("a resource follows from itself")
}

// plain reports whether a value is of a form that attributes have.
func plain(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, int64, float64:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(o any) bool { return !plain(o) })
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)),
			func(o any) bool { return !plain(o) })
	}
	return len(resource.References(v)) > 0
}

// unresolved returns a resource as it is when a model is exported: with references where values
// come later.
func unresolved(e *env, r provider.Resource) provider.Resource {
	r.Attributes = maps.Clone(r.Attributes)
	for i := range e.typ.Attributes {
		if a := &e.typ.Attributes[i]; a.Behaviour != schema.Namevar &&
			r.Attributes[a.Name] != nil && a.Name != provider.ProviderAttribute {
			r.Attributes[a.Name] = resource.Parameter{Name: "later"}
			if a.Sensitive {
				r.Attributes[a.Name] = resource.Secret{Source: "env:LATER"}
			}
		}
	}
	return r
}

// neighbours makes all, changes and purges the first, and demands that the others are as they were.
func neighbours(e *env) error {
	if e.Present {
		return errNotApplicable
	}
	if len(e.Others) == 0 {
		return lacks("Others")
	}
	all, err := allStates(e)
	if err != nil {
		return err
	}
	for _, r := range all {
		if _, err := e.apply(r); err != nil {
			return err
		}
	}
	steps := []struct {
		what string
		r    provider.Resource
	}{{"it was made", all[0]}}
	for i, u := range e.Updates {
		r, err := e.want(e.Attributes, u)
		if err != nil {
			return err
		}
		steps = append(steps, struct {
			what string
			r    provider.Resource
		}{fmt.Sprintf("its update %d", i+1), r})
	}
	if !e.Lasting {
		steps = append(steps, struct {
			what string
			r    provider.Resource
		}{"it was purged", purged(all[0])}, struct {
			what string
			r    provider.Resource
		}{"it was made again", all[0]})
	}
	e.host.expire() // so that lists are made of what exists now
	for _, s := range steps {
		if _, err := e.apply(s.r); err != nil {
			return err
		}
		for _, other := range all[1:] {
			obs, err := e.read(other, false)
			if err != nil {
				return err
			}
			if change, diffs, err := e.decide(other, obs); err != nil || change != diff.NoChange {
				return either(err,
					doubted("take Others that share nothing with Attributes",
						"after %s, %s would be %s: %v differ", s.what, other.ID, change,
						attributesOf(diffs)))
			}
		}
	}
	return nil
}
