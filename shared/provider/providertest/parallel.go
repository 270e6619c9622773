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

// parallel creates all resources concurrently.
func parallel(e *env) error {
	if len(e.Others) == 0 && !e.Present {
		return lacks("Others")
	}
	all, err := allStates(e)
	if err != nil {
		return err
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = panicked("", p)
				}
			}()
			_, errs[i] = e.apply(r)
		})
	}
	wg.Wait()
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

// interleaved reads all resources before it changes any.
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
