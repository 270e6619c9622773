package inventorytest

import (
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// FeedHarness is a new, empty home: its stores of services, and its feed.
type FeedHarness struct {
	Store       OrderStore
	Definitions definition.Store
	Feed        state.Feed
}

// TestFeed checks that a feed reports writes of instances, orders and definitions, each with its
// kinds at least.
func TestFeed(t *testing.T, h FeedHarness) {
	t.Helper()
	ctx, at := t.Context(), ""
	one, two := record(1), record(2)
	order := orderOf(1, two)
	for _, c := range []struct {
		reason string
		write  func() error
		kinds  state.ChangeKind
	}{
		{"a definition", func() error { return h.Definitions.Put(ctx, env, bundle, nil) },
			state.ChangedInstances},
		{"an instance", func() error {
			_, err := h.Store.Write(ctx, env, changesOf(one))
			return err
		}, state.ChangedInstances},
		{"an order", func() error {
			_, err := h.Store.Place(ctx, env, order, changesOf(two))
			return err
		}, state.ChangedInstances | state.ChangedOrders},
		{"an outcome of an order", func() error {
			return h.Store.Note(ctx, env, order.ID, 0, inventory.Outcome{State: inventory.ItemCompleted, At: began})
		}, state.ChangedOrders},
		{"no order", func() error { return h.Store.Forget(ctx, env, began.Add(time.Hour)) },
			state.ChangedOrders},
	} {
		if err := c.write(); err != nil {
			t.Fatalf("%s: %v", c.reason, err)
		}
		got, err := h.Feed.Changes(ctx, env, at, 0)
		if err != nil || got.Token == at || got.Kinds&c.kinds != c.kinds {
			t.Errorf("%s: %+v, %v", c.reason, got, err)
		}
		if at != "" && (got.More || len(got.Resources) > 0) {
			t.Errorf("%s: no resource has changed: %+v", c.reason, got)
		}
		at = got.Token
		if again, err := h.Feed.Changes(ctx, env, at, 0); err != nil || again.Token != at {
			t.Errorf("%s: it is reported again: %+v, %v", c.reason, again, err)
		}
	}
}

// bundle is the digest of a bundle.
const bundle = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
