package held

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
)

// TestTable compares a table with a map, over generated calls.
func TestTable(t *testing.T) {
	host := providertest.NewHost(nil)
	ctx := func(o provider.Options) *provider.Context { return host.Context(t.Context(), o) }
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var table Table[int]
		model := map[string]map[resource.ID]int{"a": {}, "b": {}}
		for n := range 40 {
			place, id := string("ab"[rng.IntN(2)]), resource.ID(fmt.Sprint("r", rng.IntN(4)))
			if rng.IntN(3) == 0 {
				table.Release(place, id)
				delete(model[place], id)
			} else {
				table.Hold(ctx(provider.Options{}), id, place, n)
				model[place][id] = n
			}
			got := table.At(place)
			if len(got) != len(model[place]) {
				t.Fatalf("seed %d: %v, not %v", seed, got, model[place])
			}
			for i, c := range got {
				if model[place][c.ID] != c.Described || i > 0 && got[i-1].ID >= c.ID {
					t.Fatalf("seed %d: %v, not %v", seed, got, model[place])
				}
			}
		}
	}
	var table Table[int]
	table.Hold(ctx(provider.Options{Stored: &resource.Resource{
		Flags: resource.Flags{ReportOnly: true}}}), "r", "a", 1)
	if got := table.At("a"); got != nil {
		t.Errorf("a resource that is only reported holds %v", got)
	}
	first, second := ctx(provider.Options{Released: 1}), ctx(provider.Options{Released: 2})
	Of[int](first).Hold(first, "r", "a", 1)
	if Of[int](first).At("a") == nil || Of[int](second).At("a") != nil {
		t.Error("a table is that of one version")
	}
}
