package providertest

import (
	"errors"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
)

func find(e *env) error {
	f, ok := provider.As[provider.Finder](e.handler)
	if !ok {
		if e.typ.Assigned {
			return errors.New("the target chooses the identity, and creates cannot be looked up")
		}
		return errNotApplicable
	}
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	token := e.token()
	found, err := findCreated(e, f, r, token)
	if err != nil && !errors.Is(err, provider.ErrUndecided) || found {
		return either(err, errors.New("found = true, expected false: nothing was made"))
	}
	if _, err := e.applyFrom(r, token, nil); err != nil {
		return err
	}
	switch found, err := findCreated(e, f, r, token); {
	case errors.Is(err, provider.ErrUndecided): // a person decides
		return nil
	case err != nil:
		return err
	case found:
		return findsOthers(e, f, r)
	}
	return repeatsNothing(e, r, token)
}

// findsOthers requires that a Finder does not mistake the old thing for the new one that is created
// beside it.
func findsOthers(e *env, f provider.Finder, r provider.Resource) error {
	if !e.typ.CreatesFirst(r.Attributes) {
		return nil
	}
	found, err := findCreated(e, f, r, e.token())
	if errors.Is(err, provider.ErrUndecided) || err == nil && !found {
		return nil
	}
	return either(err, advise("search for the token in FindCreated, not for the name",
		"FindCreated finds an object of another token: an apply would delete the old object"))
}

// findCreated asks a handler for the result of a create.
func findCreated(
	e *env, f provider.Finder, r provider.Resource, token string,
) (found bool, err error) {
	err = e.call("FindCreated", r, func() (err error) {
		found, err = f.FindCreated(e.context("FindCreated", r, false),
			provider.CreateRequest{Resource: r, Token: token})
		return err
	})
	return found, err
}

// repeats reports whether the engine would repeat a create with an unknown result, for a type whose
// target chooses identities. It does not repeat a create whose thing the handler finds, or is not
// sure of.
func repeats(e *env, r provider.Resource, token string) (bool, error) {
	f, ok := provider.As[provider.Finder](e.handler)
	if !ok {
		return true, nil
	}
	found, err := findCreated(e, f, r, token)
	if errors.Is(err, provider.ErrUndecided) {
		return false, nil
	}
	return !found, err
}

// repeatsNothing requires that a repeated create, with the token of a thing that is not found,
// makes no second thing.
func repeatsNothing(e *env, r provider.Resource, token string) error {
	if e.World == nil {
		return errors.New("found = false, expected true")
	}
	before, err := e.world()
	if err != nil {
		return err
	}
	if _, err := e.act(provider.BatchChange{Change: diff.Created, Resource: r, Token: token},
		nil); err != nil {
		return err
	}
	if after, err := e.world(); err != nil || after == before {
		return err
	}
	return advise("send the token of a create along, and let FindCreated look for it; return false "+
		"only if a create with the same token makes no second object, and ErrUndecided if the "+
		"target cannot decide", "found = false, and a create with the same token made another")
}

func reload(e *env) error {
	h, ok := provider.As[provider.Reloader](e.handler)
	if !ok {
		return errNotApplicable
	}
	r, err := madeResource(e)
	if err != nil {
		return err
	}
	for range 2 {
		ctx := contextOf(e, "Reload", provider.Options{ID: r.ID, Reload: true, Desired: r})
		if err := e.call("Reload", r,
			func() error { return h.Reload(ctx, provider.ReadRequest{Resource: r}) }); err != nil {
			return err
		}
		if err := checkConverged(e, r); err != nil {
			return err
		}
	}
	return nil
}

func facts(e *env) error {
	h, ok := provider.As[provider.FactReader](e.handler)
	if !ok {
		return errNotApplicable
	}
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	for _, phase := range []string{"missing", "there"} {
		before, err := e.world()
		if err != nil {
			return err
		}
		if err := askFacts(e, h, r); err != nil && phase == "there" {
			return err
		}
		if err := checkUnchanged(e, before, "asking for facts while it is "+phase); err != nil {
			return err
		}
		if _, err := madeResource(e); err != nil {
			return err
		}
	}
	return nil
}

// askFacts requests the facts of a resource, and records them.
func askFacts(e *env, f provider.FactReader, r provider.Resource) error {
	return e.call("Facts", r, func() error {
		learned, err := f.Facts(e.context("Facts", r, false), provider.ReadRequest{Resource: r})
		for name, value := range learned {
			data, wrong := provider.FactOf(name, value)
			if wrong != nil {
				return advise(fault.HintOf(wrong), "the fact %q is refused: %v", name, wrong)
			}
			e.host.fact(name, data, callOf("Facts", r))
		}
		return err
	})
}
