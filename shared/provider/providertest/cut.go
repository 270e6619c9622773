package providertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// canceled makes calls whose context was canceled before, or is canceled during the call.
func canceled(e *env) error {
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	for _, after := range []time.Duration{0, 200 * time.Microsecond, 2 * time.Millisecond} {
		if e.Present || e.Lasting {
			if err := givenUp(e, r, after); err != nil {
				return err
			}
			continue
		}
		if err := createGivenUp(e, after); err != nil {
			return err
		}
	}
	if _, err := e.apply(r); err != nil {
		return err
	}
	if err := checkConverged(e, r); err != nil {
		return err
	}
	return laterGivenUp(e, r)
}

// createGivenUp makes creates whose context ends after some time, in a place of their own: a create
// that was cut off may take effect during any later call, which the creates of another place do not
// meet. Each create makes one later apply fail at most. So there are as many tries as creates, with a
// purge before each.
func createGivenUp(e *env, after time.Duration) error {
	place, err := e.another()
	if err != nil {
		return err
	}
	all, err := allStates(place)
	if err != nil {
		return err
	}
	r := all[0]
	if err := givenUp(place, r, after); err != nil {
		return err
	}
	for range 2 + len(all) { // an apply, a create, and a batch of all
		if _, err = place.apply(purged(r)); err != nil {
			return err
		}
		if _, err = place.apply(r); err == nil {
			return checkConverged(place, r)
		}
	}
	return err
}

// givenUp makes creates whose context ends after some time.
func givenUp(e *env, r provider.Resource, after time.Duration) error {
	cut := *e
	ctx, cancel := context.WithTimeout(e.ctx, after)
	defer cancel()
	cut.ctx = ctx
	_, failed := cut.apply(r)
	if err := checkHonest(e, r, failed, "after it was cut off"); err != nil {
		return err
	}
	if err := cutOffChange(e, r, &cut, provider.BatchChange{Change: diff.Created, Resource: r,
		Token: e.tokenOf(r)}); err != nil {
		return err
	}
	return batchCut(&cut)
}

// cutOffChange makes one call in an env whose context has ended or is about to end.
func cutOffChange(e *env, r provider.Resource, cut *env, c provider.BatchChange) error {
	out, failed := cut.act(c, nil)
	if failed == nil && out.Again != nil {
		return nil
	}
	return checkHonest(e, r, failed, "after it was cut off")
}

// laterGivenUp makes updates, and a delete, whose context was already canceled.
func laterGivenUp(e *env, r provider.Resource) error {
	if e.Present {
		return nil
	}
	var all []provider.Resource
	for _, u := range e.Updates {
		next, err := e.want(e.Attributes, u)
		if err != nil {
			return err
		}
		all = append(all, next)
	}
	if !e.Lasting {
		all = append(all, purged(r))
	}
	for _, next := range all {
		if _, err := e.apply(r); err != nil {
			return err
		}
		obs, err := e.read(r, false)
		if err != nil {
			return err
		}
		change, diffs, err := e.decide(next, obs)
		if err != nil || change == diff.NoChange || replaces(e, diffs) {
			continue
		}
		cut := *e
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		cut.ctx = ctx
		if err := cutOffChange(e, next, &cut,
			provider.BatchChange{Change: change, Resource: next, Observed: obs, Changes: diffs,
				Token: e.tokenOf(next)}); err != nil {
			return fmt.Errorf("%s: %w", nameOfCall(change), err)
		}
		if _, err := e.apply(next); err != nil {
			return err
		}
	}
	return nil
}

// checkHonest requires that a change reported as done is done, and that an interrupted call is not
// reported as a fault of the document.
func checkHonest(e *env, r provider.Resource, err error, when string) error {
	var broken *advice
	switch {
	case errors.As(err, &broken):
		return err
	case err != nil && provider.ClassOf(err) != provider.Retryable:
		return advise(
			"keep the class of connection errors, and use NeedsChange and Terminal only "+
				"for errors that the target returned",
			"%s it fails as %s, which is never retried: %w", when, provider.ClassOf(err), err)
	case err != nil:
		return nil
	}
	obs, err := e.read(r, false)
	if err != nil {
		return err
	}
	if change, _, err := e.decide(r, obs); err != nil || change != diff.NoChange {
		return either(err,
			advise("return every error, that of the context included",
				"%s it returns no error, and the resource would still be %s", when, change))
	}
	return nil
}

// batchCut passes a batch with a canceled context; the handler must still return an answer for each
// item.
func batchCut(e *env) error {
	b, ok := provider.As[provider.BatchApplier](e.handler)
	if !ok {
		return nil
	}
	all, err := allStates(e)
	if err != nil {
		return err
	}
	items := make([]provider.BatchChange, len(all))
	for i, r := range all {
		items[i] = provider.BatchChange{Context: e.context("ApplyBatch", r, false), Change: diff.Created,
			Resource: r, Token: e.tokenOf(r)}
	}
	if _, err := applyBatch(e, b, items); err != nil {
		return fmt.Errorf("a batch that was cut short: %w", err)
	}
	return nil
}

// maxSteps is how many calls to a target one change may make.
const maxSteps = 200

// transition is a change from one state to another. States are attributes in layers, of the place
// of the test; nil layers mean that the thing does not exist.
type transition struct {
	name     string
	from, to func(c *Case) []map[string]any
}

// interrupted stops a create, updates and a purge before each of their steps. The next run must end
// in the same state as a change that was never interrupted.
func interrupted(e *env) error {
	if e.Present {
		return errNotApplicable
	}
	if e.Interrupt == nil {
		return lacks("Interrupt")
	}
	gone := func(*Case) []map[string]any { return nil }
	made := func(c *Case) []map[string]any { return []map[string]any{c.Attributes} }
	todo := []transition{{"create", gone, made}}
	for i := range e.Updates {
		todo = append(todo,
			transition{fmt.Sprintf("update %d", i+1), made,
				func(c *Case) []map[string]any {
					return []map[string]any{c.Attributes,
						c.Updates[i]}
				}})
	}
	if !e.Lasting {
		todo = append(todo, transition{"purge", made, gone})
	}
	stopped := false
	for _, t := range todo {
		_, straight, err := stoppedAt(e, t, maxSteps)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		more := true
		for n := 0; more; n++ {
			if n == maxSteps {
				return doubted("pass n calls in Interrupt, and pass all calls after restore",
					"%s: it is still stopped after %d steps", t.name, n)
			}
			var end string
			more, end, err = stoppedAt(e, t, n)
			if err == nil && end != straight {
				err = fmt.Errorf("in the end there is\n%s\nand without a stop\n%s", end, straight)
			}
			if err != nil {
				return fmt.Errorf("%s, stopped before step %d: %w", t.name, n+1, err)
			}
			stopped = stopped || more
		}
	}
	if !stopped {
		return &caseError{errors.New("Interrupt of the case stops nothing: the calls of the handler " +
			"do not go by way of it")}
	}
	return nil
}

// stoppedAt makes a transition in a place of its own, is interrupted before step n, and retries. It
// returns whether there was such a step, and the final world.
func stoppedAt(e *env, t transition, n int) (more bool, end string, err error) {
	place, err := e.another()
	if err != nil {
		return false, "", err
	}
	before, err := stateOf(place, t.from(&place.Case))
	if err == nil {
		_, err = place.apply(before)
	}
	if err != nil {
		return false, "", err
	}
	after, err := stateOf(place, t.to(&place.Case))
	if err != nil {
		return false, "", err
	}
	restore := place.Interrupt(n)
	_, err = place.apply(after)
	if more = restore(); more {
		if err = checkHonest(place, after, err, "when it is stopped"); err != nil {
			return more, "", err
		}
		_, err = place.apply(after)
	}
	if err == nil {
		err = checkConverged(place, after)
	}
	if err != nil {
		return more, "", err
	}
	end, err = place.world()
	return more, end, err
}

// stateOf is the first resource with attributes in layers, or as it must not exist if layers is
// nil.
func stateOf(e *env, layers []map[string]any) (provider.Resource, error) {
	if layers != nil {
		return e.want(layers...)
	}
	r, err := e.want(e.Attributes)
	return purged(r), err
}
