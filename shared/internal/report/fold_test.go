package report_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"southbound/shared/internal/report"
	"southbound/shared/resource"
)

// TestFold folds random items: each item is in exactly one group, groups stand in the order of their
// first items, and the items of a group have one key and different agents.
func TestFold(t *testing.T) {
	t.Parallel()
	type item struct{ key, agent string }
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		items := make([]item, r.IntN(40))
		for i := range items {
			items[i] = item{[]string{"", "a", "b"}[r.IntN(3)], fmt.Sprint("w", r.IntN(8))}
		}
		seen, first := map[int]bool{}, -1
		for _, g := range report.Fold(items, func(x *item) (string, string) {
			return x.key, x.agent
		}) {
			if g[0] <= first {
				t.Fatalf("seed %d: a group at %d comes after one at %d", seed, g[0], first)
			}
			first = g[0]
			agents := map[string]bool{}
			for _, i := range g {
				if seen[i] || agents[items[i].agent] || items[i].key != items[g[0]].key ||
					items[i].key == "" && len(g) > 1 {
					t.Fatalf("seed %d: item %d of %v in group %v", seed, i, items, g)
				}
				seen[i], agents[items[i].agent] = true, true
			}
		}
		if len(seen) != len(items) {
			t.Fatalf("seed %d: %d of %d items", seed, len(seen), len(items))
		}
	}
}

func TestAnywhere(t *testing.T) {
	t.Parallel()
	for id, want := range map[resource.ID]string{
		"fs::File[web1,path=/a,b]":  "fs::File[*,path=/a,b]",
		`fs::File[we\,b\\,path=/a]`: "fs::File[*,path=/a]",
		"no id":                     "no id",
		"t::T[a":                    "t::T[a",
	} {
		if got := report.Anywhere(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	text := "skipped: std::Null[web1,name=x] failed, and std::Null[web11,name=y]"
	const want = "skipped: std::Null[*,name=x] failed, and std::Null[web11,name=y]"
	if got := report.AnywhereIn(text, "fs::File[web1,path=/a]"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
