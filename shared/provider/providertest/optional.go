package providertest

import (
	"errors"
	"fmt"

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
	req := provider.CreateRequest{Resource: r, Token: e.token()}
	for _, want := range []bool{false, true} {
		var found bool
		err := e.call("FindCreated", r,
			func() (err error) {
				found, err = f.FindCreated(e.context("FindCreated", r, false), req)
				return err
			})
		if !want && errors.Is(err, provider.ErrUndecided) { // a person is asked
			found, err = false, nil
		}
		if err != nil || found != want {
			return either(err, fmt.Errorf("found = %t, expected %t", found, want))
		}
		if _, err := e.applyFrom(r, req.Token, nil); err != nil {
			return err
		}
	}
	return nil
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

// askFacts asks for the facts of a resource, and notes them.
func askFacts(e *env, f provider.FactReader, r provider.Resource) error {
	return e.call("Facts", r, func() error {
		learned, err := f.Facts(e.context("Facts", r, false), provider.ReadRequest{Resource: r})
		for name, value := range learned {
			e.host.fact(name, value, callOf("Facts", r))
		}
		return err
	})
}
