package providertest

import (
	"context"
	"errors"
	"fmt"

	"southbound/shared/plan"
	"southbound/shared/provider"
)

// canceled makes calls whose caller has given up already.
func canceled(e *env) error {
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	cut := *e
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	cut.ctx = ctx
	_, _ = cut.apply(r) // it may fail, or have been faster
	_, _ = cut.act(provider.BatchChange{Change: plan.Created, Resource: r, Token: "cut"}, nil)
	if err := cut.batchCut(); err != nil {
		return err
	}
	e.errors = append(e.errors, cut.errors...)
	if _, err := e.apply(r); err != nil {
		return err
	}
	return e.settled(r)
}

// batchCut hands over a batch that nobody waits for any more; there is an answer for each item all the same.
func (e *env) batchCut() error {
	b, ok := provider.As[provider.BatchApplier](e.handler)
	if !ok {
		return nil
	}
	all, err := e.all()
	if err != nil {
		return err
	}
	items := make([]provider.BatchChange, len(all))
	for i, r := range all {
		items[i] = provider.BatchChange{Context: e.context(r, false), Change: plan.Created, Resource: r, Token: fmt.Sprintf("cut-%d", i)}
	}
	got := b.ApplyBatch(e.ctx, items)
	if len(got) != len(items) {
		return fmt.Errorf("%d answers for %d changes of a batch that was cut short", len(got), len(items))
	}
	for _, a := range got {
		if a.Err != nil {
			e.errors = append(e.errors, a.Err.Error())
		}
	}
	return nil
}

// mostSteps bounds how many calls to a target one change may take.
const mostSteps = 200

// transition is a change from one state to another. States are attributes in layers, of the place where it is made; none is not to exist.
type transition struct {
	name     string
	from, to func(c *Case) []map[string]any
}

// interrupted stops a create, updates and a purge before each of their steps. The next run has to end where one that was never stopped ends.
func interrupted(e *env) error {
	if e.Interrupt == nil || e.Present {
		return errNotApplicable
	}
	gone := func(*Case) []map[string]any { return nil }
	made := func(c *Case) []map[string]any { return []map[string]any{c.Attributes} }
	todo := []transition{{"create", gone, made}}
	for i := range e.Updates {
		todo = append(todo, transition{fmt.Sprintf("update %d", i+1), made, func(c *Case) []map[string]any { return []map[string]any{c.Attributes, c.Updates[i]} }})
	}
	if !e.Lasting {
		todo = append(todo, transition{"purge", made, gone})
	}
	for _, t := range todo {
		_, straight, err := e.stopped(t, mostSteps)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		more := true
		for n := 0; more; n++ {
			if n == mostSteps {
				return fmt.Errorf("%s: it is still stopped after %d steps", t.name, n)
			}
			var end string
			more, end, err = e.stopped(t, n)
			if err == nil && end != straight {
				err = fmt.Errorf("in the end there is\n%s\nand without a stop\n%s", end, straight)
			}
			if err != nil {
				return fmt.Errorf("%s, stopped before step %d: %w", t.name, n+1, err)
			}
		}
	}
	return nil
}

// stopped makes a transition in a place of its own, is stopped before step n, and tries again. It returns whether there was such a step, and
// what there is in the end.
func (e *env) stopped(t transition, n int) (more bool, end string, err error) {
	place, err := e.another()
	if err != nil {
		return false, "", err
	}
	defer func() {
		e.errors = append(e.errors, place.errors...)
		err = errors.Join(err, place.leaks())
	}()
	before, err := place.state(t.from(&place.Case))
	if err == nil {
		_, err = place.apply(before)
	}
	if err != nil {
		return false, "", err
	}
	after, err := place.state(t.to(&place.Case))
	if err != nil {
		return false, "", err
	}
	restore := place.Interrupt(n)
	_, err = place.apply(after)
	if more = restore(); more {
		_, err = place.apply(after)
	}
	if err == nil {
		err = place.settled(after)
	}
	if err != nil {
		return more, "", err
	}
	end, err = place.world()
	return more, end, err
}

// state is the first resource with attributes in layers, or what must not exist.
func (e *env) state(layers []map[string]any) (provider.Resource, error) {
	if layers != nil {
		return e.want(layers...)
	}
	r, err := e.want(e.Attributes)
	return purged(r), err
}
