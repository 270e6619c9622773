package aws

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

var (
	seeds = flag.Uint64("seeds", 0, "how many seeds TestLong runs; 0: none")
	first = flag.Uint64("first", 1, "the seed that TestLong begins with")
	seed  = flag.Uint64("seed", 0, "the seed that TestSeed shows; 0: none")
	salt  = flag.Uint64("salt", 0, "which run of the seed")
	name  = flag.String("mutant", "", "the mutant that TestSeed runs with; empty: none")
)

// TestMain collects garbage less often: what a run leaves behind is garbage as a whole, and a third
// of the time goes into looking.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	m.Run()
}

// TestSeeds pins that the first seeds find nothing, that the runs make all that they are to make,
// and that whatever is counted is listed.
func TestSeeds(t *testing.T) {
	t.Parallel()
	n := uint64(1000)
	if testing.Short() {
		n = 50
	}
	checkKinds(t, campaign(t, 1, n))
}

// TestLong is the same for as many seeds as one likes: go test ./shared/internal/simtest/aws -run TestLong
// -seeds 1000000.
func TestLong(t *testing.T) {
	if *seeds > 0 {
		campaign(t, *first, *seeds)
	}
}

func campaign(t *testing.T, first, n uint64) Totals {
	t.Helper()
	found, totals := Campaign(first, n, nil)
	t.Logf("%d seeds, %d operations, %d requests, %d rolled forward, %d crashes",
		totals.Seeds, totals.Operations, totals.Requests, totals.Forwards, totals.Crashes)
	if found != nil {
		explain(t, found, nil)
		t.Fatalf("seed %d: %s\nshow it with: go test ./shared/internal/simtest/aws -run TestSeed -seed %d -v",
			found.Plan.Seed, found.Violation, found.Plan.Seed)
	}
	return totals
}

// explain logs the trace of the smallest run that is found.
func explain(t *testing.T, f *Found, m *Mutant) {
	t.Helper()
	small := Shrink(f, m)
	var b strings.Builder
	res := Run(small.Plan, m, func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	})
	t.Logf("%s%v", b.String(), res.Violation)
}

// TestSeed shows one seed: go test ./shared/internal/simtest/aws -run TestSeed -seed N -v, and -mutant NAME.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		return
	}
	var m *Mutant
	if i := slices.IndexFunc(mutants(), func(m mutant) bool { return m.Name == *name }); i >= 0 {
		m = &mutants()[i].Mutant
	}
	p := Draw(*seed)
	p.Salt = *salt
	res := Run(p, m, t.Logf)
	if res.Violation != nil {
		explain(t, &Found{p, res.Violation}, m)
		t.Fatalf("seed %d: %s", *seed, res.Violation)
	}
}

// TestMutants pins that the simulation can fail: each fault that is built in on purpose is found
// within so many seeds, by the check that is for it.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		if testing.Short() && m.within > 100 {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			found, totals := Campaign(1, m.within, &m.Mutant)
			switch {
			case found == nil:
				t.Fatalf("%s (%s): not found within %d seeds", m.Name, m.Why, m.within)
			case m.Check != "" && found.Violation.Check != m.Check:
				t.Errorf("%s (%s): found by %s, want %s: %s", m.Name, m.Why, found.Violation.Check,
					m.Check, found.Violation)
			}
			text, _, _ := strings.Cut(found.Violation.String(), "\n")
			t.Logf("%s after %d seeds: %.200s", m.Name, totals.Seeds, text)
		})
	}
}

// TestAnswerIsOfTheLastEffect pins a seed in which a commit takes effect twice, and its answer
// names a row that only the second found changed: by the first.
func TestAnswerIsOfTheLastEffect(t *testing.T) {
	t.Parallel()
	campaign(t, 9000008826, 1)
}

// TestDoneOnceMore pins a seed in which somebody late writes once more what a commit that is done
// has left to be done: from then on, readers need not have begun after it.
func TestDoneOnceMore(t *testing.T) {
	t.Parallel()
	campaign(t, 42010537, 1)
}

// TestMoreToCheckMeanwhile pins a seed in which something moves to a lane between the reads of its
// record, which has nothing to check, and of its image.
func TestMoreToCheckMeanwhile(t *testing.T) {
	t.Parallel()
	campaign(t, 990694215, 1)
}

// TestSameSeedSameRun pins that a seed is replayed to the letter.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	for s := uint64(1); s <= 20; s++ {
		var runs [2]strings.Builder
		for i := range runs {
			Run(Draw(s), nil, func(format string, args ...any) {
				fmt.Fprintf(&runs[i], format+"\n", args...)
			})
		}
		if runs[0].String() != runs[1].String() {
			t.Fatalf("seed %d: two runs differ", s)
		}
	}
}

// TestShrink pins that what fails gets smaller and fails by the same check, and that the trace
// shows it.
func TestShrink(t *testing.T) {
	t.Parallel()
	m := mutants()
	i := slices.IndexFunc(m, func(m mutant) bool { return m.Name == "PartLeftOut" })
	found, _ := Campaign(1, m[i].within, &m[i].Mutant)
	if found == nil {
		t.Fatal("not found")
	}
	small := Shrink(found, &m[i].Mutant)
	var trace strings.Builder
	res := Run(small.Plan, &m[i].Mutant, func(format string, args ...any) {
		fmt.Fprintf(&trace, format+"\n", args...)
	})
	if res.Violation == nil || res.Violation.Check != found.Violation.Check ||
		len(small.Plan.actors) >= len(found.Plan.actors) {
		t.Errorf("%d tasks of %d are left: %v", len(small.Plan.actors), len(found.Plan.actors),
			res.Violation)
	}
	if !strings.Contains(trace.String(), "VIOLATION "+found.Violation.Check) {
		t.Errorf("the trace does not show it:\n%s", trace.String())
	}
}
