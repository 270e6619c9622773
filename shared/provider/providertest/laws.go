package providertest

import (
	"fmt"
	"reflect"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// canonical checks the laws of canonical forms with the values of the case, and with edge values of
// the types.
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

// canonicalOf requires that the canonical form of a resource has the same attributes, with values
// of their types, and is its own canonical form.
func canonicalOf(e *env, c provider.Canonicaliser, r provider.Resource) error {
	var once, twice map[string]any
	err := e.call("Canonicalise", r,
		func() (err error) { once, err = c.Canonicalise(r.Attributes); return err })
	if err != nil {
		return nil // the value is rejected; other checks decide whether that is right
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

// neighbours makes all resources, changes and purges the first, and requires that the others are
// unchanged.
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
	e.host.expire() // so that lists are read again
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
