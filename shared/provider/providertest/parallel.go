package providertest

import (
	"errors"
	"fmt"
	"sync"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// allStates returns the first resource and the others.
func allStates(e *env) ([]provider.Resource, error) {
	var out []provider.Resource
	for _, attrs := range append([]map[string]any{e.Attributes}, e.Others...) {
		r, err := e.want(attrs)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func parallel(e *env) error {
	if len(e.Others) == 0 && !e.Present {
		return lacks("Others")
	}
	all, err := allStates(e)
	if err != nil {
		return err
	}
	errs := make([]error, len(all))
	parts := make([]env, len(all))
	var wg sync.WaitGroup
	for i, r := range all {
		parts[i] = *e
		parts[i].told = nil
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = panicked("", p)
				}
			}()
			_, errs[i] = parts[i].apply(r)
		})
	}
	wg.Wait()
	for i := range parts {
		e.told = append(e.told, parts[i].told...)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, r := range all {
		if err := checkConverged(e, r); err != nil {
			return err
		}
	}
	return interleaved(e, all)
}

// interleaved reads all before it acts on any.
func interleaved(e *env, all []provider.Resource) error {
	if e.Lasting || e.Present {
		return nil
	}
	for _, purge := range []bool{true, false} {
		var todo []provider.BatchChange
		for _, r := range all {
			r.Purged = purge
			obs, err := e.read(r, false)
			if err != nil {
				return err
			}
			change, diffs, err := e.decide(r, obs)
			if err != nil {
				return err
			}
			if change != diff.NoChange {
				todo = append(todo,
					provider.BatchChange{Change: change, Resource: r, Observed: obs, Changes: diffs,
						Token: e.token()})
			}
		}
		for _, c := range todo {
			out, err := e.act(c, nil)
			if err == nil && out.Again != nil {
				_, err = e.applyFrom(c.Resource, c.Token, out.Again.State)
			}
			if err == nil {
				err = checkConverged(e, c.Resource)
			}
			if err != nil {
				return fmt.Errorf("all were read before the first was changed: %w", err)
			}
		}
	}
	return nil
}

// stranger is a connection that no handler knows.
type stranger struct{}

// connection reads a thing with another connection than that to its target.
func connection(e *env) error {
	if e.subject.Transport == nil || e.Present || e.typ.Reached("local") || e.typ.Reached("ssh") {
		return errNotApplicable
	}
	r, err := madeResource(e)
	if err != nil {
		return err
	}
	other := *e
	other.host = NewHost(stranger{})
	obs, err := readAny(&other, r)
	e.told = other.told
	if err == nil && obs.Exists {
		return errors.New("a call whose context has another connection sees the thing all the same")
	}
	return nil
}

// readAny is read by a handler that may panic as well: it has been given what it cannot use.
func readAny(e *env, r provider.Resource) (obs provider.Observation, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return e.read(r, false)
}
