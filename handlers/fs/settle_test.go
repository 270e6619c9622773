package fs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
)

// someRule returns attributes of a line; few texts and expressions, so that many contradict.
func someRule(rng *rand.Rand, name string) (attrs map[string]any, purged bool) {
	letter := func() string { return string(rune('a' + rng.IntN(4))) }
	attrs = map[string]any{"path": "/f", "name": name, "position": "end", "multiple": "refuse",
		"marker": defaultMarker, "create": true}
	switch rng.IntN(5) {
	case 0:
		attrs["block"] = letter() + "\n" + letter()
	case 1:
		attrs["line"] = letter()
	default:
		attrs["line"], attrs["match"] = letter(), "^["+letter()+letter()+"]"
		attrs["multiple"] = []string{"refuse", "first", "last", "all", "single"}[rng.IntN(5)]
	}
	for _, anchor := range []string{"after", "before"} {
		if rng.IntN(6) == 0 {
			attrs[anchor] = letter()
		}
	}
	return attrs, rng.IntN(4) == 0
}

// TestLinesSettle applies generated lines again and again, each time by another process: what is
// as described stays so, so that after at most as many applies as there are lines nothing changes.
func TestLinesSettle(t *testing.T) {
	failed := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 4))
		store := &memory{[]string{"", "a", "a\nb\n", "b\nc\nb\nd\n"}[rng.IntN(4)]}
		h := newLine(textfile.Editor{})
		h.Store = store
		var rs []provider.Resource
		for n := range 2 + rng.IntN(5) {
			attrs, purged := someRule(rng, fmt.Sprint("n", n))
			rs = append(rs, provider.Resource{ID: resource.ID(fmt.Sprint("r", n)), Attributes: attrs,
				Purged: purged})
		}
		right := map[resource.ID]bool{}
		changed := true
		for round := 0; changed; round++ {
			if round > len(rs) {
				t.Fatalf("seed %d: still changing %q:\n%v", seed, store.text, rs)
			}
			before := store.text
			now := applyLines(t, h, rs)
			for id := range right {
				if !now[id] {
					t.Fatalf("seed %d, apply %d: %s was undone: %q became %q\n%v", seed, round, id,
						before, store.text, rs)
				}
			}
			right, changed = now, store.text != before
		}
		failed += len(rs) - len(right)
	}
	if failed < 500 {
		t.Fatalf("only %d lines contradict others", failed)
	}
}

// applyLines reads all and changes what differs, and returns which are as described.
func applyLines(t *testing.T, h line, rs []provider.Resource) map[resource.ID]bool {
	t.Helper()
	host := providertest.NewHost(nil)
	var reads []provider.BatchRead
	for _, r := range rs {
		reads = append(reads, provider.BatchRead{
			Context:     host.Context(t.Context(), provider.Options{ID: r.ID, Desired: r}),
			ReadRequest: provider.ReadRequest{Resource: r}})
	}
	right := map[resource.ID]bool{}
	var todo []provider.BatchChange
	for i, got := range h.ReadBatch(t.Context(), reads) {
		c := provider.BatchChange{Context: reads[i].Context, Resource: rs[i], Change: diff.Updated}
		switch exists := got.Observation.Exists; {
		case got.Err != nil:
			continue
		case rs[i].Purged && exists:
			c.Change = diff.Purged
		case !rs[i].Purged && !exists:
			c.Change = diff.Created
		case rs[i].Purged || !lineDiffers(rs[i], got.Observation):
			right[rs[i].ID] = true
			continue
		}
		todo = append(todo, c)
	}
	for i, got := range h.ApplyBatch(t.Context(), todo) {
		if got.Err == nil {
			right[todo[i].Resource.ID] = true
		}
	}
	return right
}
