package fulfil_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"southbound/shared/service/fulfil"
	"southbound/shared/service/inventory"
)

// between is a store that does something before one list is returned.
type between struct {
	inventory.Store
	list func(all []inventory.Record) []inventory.Record
}

func (b *between) Instances(
	ctx context.Context, env string, q inventory.Query,
) ([]inventory.Record, error) {
	all, err := b.Store.Instances(ctx, env, q)
	if do := b.list; do != nil && q.After == nil {
		b.list = nil
		all = do(all)
	}
	return all, err
}

// TestValuesAreGivenOnce pins that a compile whose model has seen less than what others were given
// is made anew: where another worker gives values between what it reads and what it writes, and
// where the store shows a generation before the values that were written with it.
func TestValuesAreGivenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	store := &between{Store: w.store}
	worker := func() *fulfil.Worker {
		out := w.worker(store)
		out.Alone, out.Notified = nil, true
		return out
	}
	visit := func(id string, list func([]inventory.Record) []inventory.Record) {
		t.Helper()
		store.list = list
		if left, err := worker().Visit(t.Context(), []string{id}, false, time.Time{}); err != nil ||
			len(left) > 0 {
			t.Fatal(left, err)
		}
		if store.list != nil {
			t.Error("nobody has asked what others have")
		}
	}
	visit("one", func(all []inventory.Record) []inventory.Record { return all })
	w.order("site", "two", map[string]any{"host_name": "b"})
	w.order("site", "three", map[string]any{"host_name": "c"})
	visit("two", func(all []inventory.Record) []inventory.Record {
		other := w.worker(w.store)
		other.Alone, other.Notified = nil, true
		if _, err := other.Visit(t.Context(), []string{"three"}, false, time.Time{}); err != nil {
			t.Error(err)
		}
		return all
	})
	w.order("site", "four", map[string]any{"host_name": "d"})
	visit("four", func(all []inventory.Record) []inventory.Record {
		for i := range all {
			if all[i].ID == "two" { // as it was before it got its value
				all[i].Active, all[i].Rev = map[string]any{"host_name": "b"}, 1
			}
		}
		return all
	})
	for id, want := range map[string]string{
		"one": "8000", "two": "8002", "three": "8001", "four": "8003",
	} {
		r := w.read(id)
		if got := fmt.Sprint(r.Current()["port"]); got != want {
			t.Errorf("%s has the port %s, not %s", id, got, want)
		}
	}
}
