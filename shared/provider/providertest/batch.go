package providertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// batch makes the same changes in two places, in one with batches and in the other with single
// calls, and compares the results.
func batch(e *env) error {
	_, reads := provider.As[provider.BatchReader](e.handler)
	_, applies := provider.As[provider.BatchApplier](e.handler)
	if !reads && !applies {
		return errNotApplicable
	}
	if len(e.Others) == 0 {
		return lacks("Others")
	}
	single, err := e.another()
	if err != nil {
		return err
	}
	// Every second resource already exists, so that batches are mixed.
	for _, place := range []*env{e, single} {
		all, err := allStates(place)
		if err != nil {
			return err
		}
		for i := 0; i < len(all); i += 2 {
			if _, err := place.apply(all[i]); err != nil {
				return err
			}
		}
	}
	for _, round := range []struct {
		name   string
		change map[string]any
		purged bool
	}{{"create", nil, false}, {"update", firstOf(e.Updates), false}, {"purge", nil,
		true}, {"create again", nil, false}} {
		if err := batchRound(e, single, round.change, round.purged); err != nil {
			return fmt.Errorf("%s: %w", round.name, err)
		}
	}
	return batchStopped(e)
}

func firstOf(updates []map[string]any) map[string]any {
	if len(updates) == 0 {
		return nil
	}
	return updates[0]
}

// batchRound brings all resources to a state, in one env as a batch and in the other one by one,
// and compares the results.
func batchRound(e *env, single *env, change map[string]any, purge bool) error {
	here, err := batchStates(e, change, purge)
	if err != nil {
		return err
	}
	there, err := batchStates(single, change, purge)
	if err != nil {
		return err
	}
	items, err := decideAll(e, here)
	if err != nil {
		return err
	}
	for i, r := range there {
		did, err := single.apply(r)
		if err != nil {
			return err
		}
		if did != items[i].Change {
			return fmt.Errorf("resource %d: the batch would do %q, a single call did %q", i+1,
				items[i].Change, did)
		}
	}
	if err := applyAll(e, items); err != nil {
		return err
	}
	for _, r := range here {
		if err := checkConverged(e, r); err != nil {
			return fmt.Errorf("after the batch: %w", err)
		}
	}
	want, err := single.world()
	if err != nil {
		return err
	}
	return checkUnchanged(e, want, "the batch, compared with single calls,")
}

// batchStates returns all resources; change, which may apply only to the first, is merged into its
// attributes.
func batchStates(e *env, change map[string]any, purge bool) ([]provider.Resource, error) {
	var out []provider.Resource
	for i, attrs := range append([]map[string]any{e.Attributes}, e.Others...) {
		layer := map[string]any{}
		if i == 0 {
			layer = change
		}
		r, err := e.want(attrs, layer)
		if err != nil {
			return nil, err
		}
		r.Purged = purge
		out = append(out, r)
	}
	return out, nil
}

// decideAll reads all resources as a batch, compares each reading with a single one, and returns
// the necessary changes.
func decideAll(e *env, rs []provider.Resource) ([]provider.BatchChange, error) {
	reads := make([]provider.BatchRead, len(rs))
	for i, r := range rs {
		reads[i] = provider.BatchRead{Context: e.context("ReadBatch", r, false),
			ReadRequest: provider.ReadRequest{Resource: r}}
	}
	var got []provider.Reading
	if b, ok := provider.As[provider.BatchReader](e.handler); ok {
		read := func(ctx context.Context) (out []provider.Reading) {
			_ = e.named("ReadBatch", func() error { out = b.ReadBatch(ctx, reads); return nil })
			for _, one := range out {
				if one.Err != nil {
					e.host.say("ReadBatch", "an error", one.Err.Error())
				}
			}
			return out
		}
		if got = read(e.ctx); len(got) != len(rs) {
			return nil, fmt.Errorf("%d readings of %d", len(got), len(rs))
		}
		if err := cutShort(e, func(ctx context.Context) int { return len(read(ctx)) },
			len(rs)); err != nil {
			return nil, err
		}
	}
	var out []provider.BatchChange
	for i, r := range rs {
		obs, err := e.read(r, false)
		if err != nil {
			return nil, err
		}
		if got != nil && (got[i].Err != nil || !reflect.DeepEqual(got[i].Observation, obs)) {
			return nil,
				either(got[i].Err,
					fmt.Errorf("resource %d reads differently in a batch: %v, alone: %v", i+1,
						got[i].Observation, obs))
		}
		change, diffs, err := e.decide(r, obs)
		if err != nil {
			return nil, err
		}
		out = append(out,
			provider.BatchChange{Context: e.context("ApplyBatch", r, false), Change: change, Resource: r,
				Observed: obs, Changes: diffs, Token: e.token()})
	}
	return out, nil
}

// cutShort requires an answer for each item of a batch even if its context is canceled.
func cutShort(e *env, f func(ctx context.Context) int, want int) error {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if n := f(ctx); n != want {
		return fmt.Errorf("%d answers for %d items of a batch that was cut short", n, want)
	}
	return nil
}

// applyAll makes the changes, as a batch if the handler supports it.
func applyAll(e *env, items []provider.BatchChange) error {
	var todo []provider.BatchChange
	for _, item := range items {
		if item.Change != diff.NoChange {
			todo = append(todo, item)
		}
	}
	b, ok := provider.As[provider.BatchApplier](e.handler)
	if !ok {
		for _, item := range todo {
			if _, err := e.act(item, nil); err != nil {
				return err
			}
		}
		return nil
	}
	got, err := applyBatch(e, b, todo)
	if err != nil {
		return err
	}
	var done []provider.BatchChange
	for i, a := range got {
		if a.Err != nil {
			return fmt.Errorf("change %d: %w", i+1, a.Err)
		}
		if a.Result.Again == nil {
			done = append(done, todo[i])
		}
	}
	if err := e.flush(done); err != nil {
		return err
	}
	for i, a := range got {
		if a.Result.Again != nil {
			if err := checkAgain(e, todo[i].Resource, a.Result.Again); err != nil {
				return fmt.Errorf("change %d: %w", i+1, err)
			}
			if _, err := e.applyFrom(todo[i].Resource, todo[i].Token,
				a.Result.Again.State); err != nil {
				return fmt.Errorf("change %d, called again: %w", i+1, err)
			}
		}
	}
	return nil
}

// applyBatch passes a batch to the handler and requires an answer for each item.
func applyBatch(
	e *env, b provider.BatchApplier, todo []provider.BatchChange,
) (got []provider.Applied, err error) {
	_ = e.named("ApplyBatch", func() error { got = b.ApplyBatch(e.ctx, todo); return nil })
	for _, a := range got {
		if a.Err != nil {
			e.host.say("ApplyBatch", "an error", a.Err.Error())
		}
	}
	if len(got) != len(todo) {
		return nil, fmt.Errorf("%d answers for %d changes", len(got), len(todo))
	}
	return got, nil
}

// batchOfCreates returns the creates of all resources of a new place, if the handler applies
// batches of them.
func batchOfCreates(
	e *env,
) (place *env, b provider.BatchApplier, todo []provider.BatchChange, err error) {
	b, ok := provider.As[provider.BatchApplier](e.handler)
	if !ok || e.Present {
		return nil, nil, nil, errNotApplicable
	}
	if place, err = e.another(); err != nil {
		return nil, nil, nil, err
	}
	all, err := allStates(place)
	for _, r := range all {
		todo = append(todo,
			provider.BatchChange{Context: place.context("ApplyBatch", r, false), Change: diff.Created,
				Resource: r, Token: place.token()})
	}
	return place, b, todo, err
}

// batchStopped interrupts batches: changes that were reported as done must be done.
func batchStopped(e *env) error {
	if e.Interrupt == nil {
		return nil
	}
	more := true
	for n := 0; more && n < 2*len(e.Others)+2; n++ {
		place, b, todo, err := batchOfCreates(e)
		if errors.Is(err, errNotApplicable) {
			return nil
		}
		if err != nil {
			return err
		}
		restore := place.Interrupt(n)
		got, err := applyBatch(place, b, todo)
		more = restore()
		if err != nil {
			return err
		}
		if err := resultsAsSaid(place, todo, got); err != nil {
			return fmt.Errorf("the batch was stopped before step %d: %w", n+1, err)
		}
	}
	return nil
}

// resultsAsSaid requires that every item of a batch that was answered without an error has its
// desired state.
func resultsAsSaid(e *env, todo []provider.BatchChange, got []provider.Applied) error {
	for i, a := range got {
		if a.Err != nil || a.Result.Again != nil {
			continue
		}
		obs, err := e.read(todo[i].Resource, false)
		if err != nil {
			return err
		}
		if change, _, err := e.decide(todo[i].Resource, obs); err != nil ||
			change != diff.NoChange {
			return either(err,
				advise("give each item the answer that is its own, an error when it was not done",
					"item %d was answered as done, and still would be %s", i+1, change))
		}
	}
	return nil
}
