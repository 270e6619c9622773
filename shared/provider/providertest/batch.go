package providertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"southbound/shared/plan"
	"southbound/shared/provider"
)

// batch does the same in two places, in one with batches and in the other with single calls, and compares.
func batch(e *env) (err error) {
	if len(e.Others) == 0 {
		return errNotApplicable
	}
	_, reads := provider.As[provider.BatchReader](e.handler)
	_, applies := provider.As[provider.BatchApplier](e.handler)
	if !reads && !applies {
		return errNotApplicable
	}
	single, err := e.another()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, single.leaks()) }()
	// Every second exists already, so that batches are mixed.
	for _, place := range []*env{e, single} {
		all, err := place.all()
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
	}{{"create", nil, false}, {"update", firstOf(e.Updates), false}, {"purge", nil, true}, {"create again", nil, false}} {
		if err := e.round(single, round.change, round.purged); err != nil {
			return fmt.Errorf("%s: %w", round.name, err)
		}
	}
	return nil
}

func firstOf(updates []map[string]any) map[string]any {
	if len(updates) == 0 {
		return nil
	}
	return updates[0]
}

// round brings all resources to a state, here as a batch, there one by one, and compares what came of it.
func (e *env) round(single *env, change map[string]any, purge bool) error {
	here, err := e.states(change, purge)
	if err != nil {
		return err
	}
	there, err := single.states(change, purge)
	if err != nil {
		return err
	}
	items, err := e.decideAll(here)
	if err != nil {
		return err
	}
	for i, r := range there {
		did, err := single.apply(r)
		if err != nil {
			return err
		}
		if did != items[i].Change {
			return fmt.Errorf("resource %d: the batch would do %q, a single call did %q", i+1, items[i].Change, did)
		}
	}
	if err := e.applyAll(items); err != nil {
		return err
	}
	for _, r := range here {
		if err := e.settled(r); err != nil {
			return fmt.Errorf("after the batch: %w", err)
		}
	}
	want, err := single.world()
	if err != nil {
		return err
	}
	return e.unchanged(want, "the batch, compared with single calls,")
}

// states returns all resources with a change, which only the first may take, laid over.
func (e *env) states(change map[string]any, purge bool) ([]provider.Resource, error) {
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

// decideAll reads all as a batch, compares each reading with a single one, and returns what is to be done.
func (e *env) decideAll(rs []provider.Resource) ([]provider.BatchChange, error) {
	reads := make([]provider.BatchRead, len(rs))
	for i, r := range rs {
		reads[i] = provider.BatchRead{Context: e.context(r, false), ReadRequest: provider.ReadRequest{Resource: r}}
	}
	var got []provider.Reading
	if b, ok := provider.As[provider.BatchReader](e.handler); ok {
		if got = b.ReadBatch(e.ctx, reads); len(got) != len(rs) {
			return nil, fmt.Errorf("%d readings of %d", len(got), len(rs))
		}
		if err := e.cutShort(func(ctx context.Context) int { return len(b.ReadBatch(ctx, reads)) }, len(rs)); err != nil {
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
			return nil, errors.Join(got[i].Err, fmt.Errorf("resource %d reads differently in a batch: %v, alone: %v", i+1, got[i].Observation, obs))
		}
		change, diffs, err := e.decide(r, obs)
		if err != nil {
			return nil, err
		}
		out = append(out, provider.BatchChange{Context: e.context(r, false), Change: change, Resource: r, Observed: obs, Changes: diffs, Token: fmt.Sprintf("batch-%d", i)})
	}
	return out, nil
}

// cutShort demands an answer for each item of a batch even when the caller gives up.
func (e *env) cutShort(f func(ctx context.Context) int, want int) error {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if n := f(ctx); n != want {
		return fmt.Errorf("%d answers for %d items of a batch that was cut short", n, want)
	}
	return nil
}

// applyAll acts, as a batch where the handler can.
func (e *env) applyAll(items []provider.BatchChange) error {
	var todo []provider.BatchChange
	for _, item := range items {
		if item.Change != plan.NoChange {
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
	got := b.ApplyBatch(e.ctx, todo)
	if len(got) != len(todo) {
		return fmt.Errorf("%d answers for %d changes", len(got), len(todo))
	}
	for i, a := range got {
		if a.Err != nil {
			e.errors = append(e.errors, a.Err.Error())
			return fmt.Errorf("change %d: %w", i+1, a.Err)
		}
		if a.Result.Again != nil {
			if _, err := e.applyFrom(todo[i].Resource, todo[i].Token, a.Result.Again.State); err != nil {
				return fmt.Errorf("change %d, called again: %w", i+1, err)
			}
		}
	}
	return nil
}
