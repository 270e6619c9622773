package awssim

import (
	"flag"
	"testing"
)

var (
	seeds = flag.Uint64("seeds", 0, "how many seeds TestLong runs; 0: none")
	first = flag.Uint64("first", 1, "the seed that TestLong begins with")
	seed  = flag.Uint64("seed", 0, "the seed that TestSeed shows; 0: none")
)

func TestSeeds(t *testing.T) {
	t.Parallel()
	campaign(t, 1, 500)
}

func TestLong(t *testing.T) {
	if *seeds > 0 {
		campaign(t, *first, *seeds)
	}
}

func campaign(t *testing.T, first, n uint64) {
	t.Helper()
	ops, steps, forwards := 0, 0, 0
	for s := first; s < first+n; s++ {
		res := Run(Draw(s), nil, nil)
		ops += res.Operations
		steps += res.Requests
		forwards += res.Forwards
		if res.Violation != nil {
			t.Fatalf("seed %d: %s", s, res.Violation)
		}
	}
	t.Logf("%d seeds, %d operations, %d steps, %d forwards", n, ops, steps, forwards)
}

func TestSeed(t *testing.T) {
	if *seed == 0 {
		return
	}
	res := Run(Draw(*seed), nil, t.Logf)
	if res.Violation != nil {
		t.Fatalf("seed %d: %s", *seed, res.Violation)
	}
}
