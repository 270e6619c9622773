package engine

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
	whole = flag.Bool("whole", false, "do not look for a shorter trace of what fails")
	name  = flag.String("mutant", "", "the mutant that TestSeed runs with; empty: none")
	focus = flag.String("focus", "", "the focus of the plans of TestSeed and TestLong; empty: none")
	every = flag.Bool("every", false,
		"look for each mutant from several first seeds, however many it needs")
)

// TestMain collects garbage less often: what a run leaves behind is garbage as a whole, and a third
// of the time goes into looking.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	m.Run()
}

// scaled returns how many seeds to run: few with -short, which the phase with the race detector sets.
func scaled(seeds, few uint64) uint64 {
	if testing.Short() {
		return few
	}
	return seeds
}

// TestSeeds pins that no invariant is violated in the first seeds, that the plans make all that
// they are to make in the first of these, and that whatever is counted is listed.
func TestSeeds(t *testing.T) {
	t.Parallel()
	n := scaled(1000, 40)
	h := happened{most: n, seeds: map[string]int{}, times: map[string]int{}}
	campaign(t, 1, n, h.add)
	h.check(t)
}

// TestLong is the same for as many seeds as one likes: go test ./shared/internal/simtest/engine -run TestLong
// -seeds 1000000.
func TestLong(t *testing.T) {
	if *seeds > 0 {
		done := 0
		campaign(t, *first, *seeds, func(*Result) {
			if done++; done%10000 == 0 {
				t.Logf("%d of %d seeds", done, *seeds)
			}
		})
	}
}

func campaign(t *testing.T, first, n uint64, ran func(*Result)) {
	t.Helper()
	found, done, err := Campaign(first, n, Mutant{Focus: FocusOf(*focus)}, ran)
	if err != nil {
		t.Fatal(err)
	}
	if found == nil {
		t.Logf("%d seeds, no violation", done)
		return
	}
	if !*whole {
		explain(t, found.Plan, Mutant{}, found.Violation.Check)
	}
	t.Fatalf("seed %d: %s\nshow it with: go test ./shared/internal/simtest/engine -run TestSeed -seed %d -v",
		found.Plan.Seed, found.Violation, found.Plan.Seed)
}

// TestOnceBlamed pins seeds in which a check once blamed the engine for what it may do. What a seed
// draws changes with the plans: one whose plan no longer does what is said of it can go.
func TestOnceBlamed(t *testing.T) {
	t.Parallel()
	for why, seed := range map[string]uint64{
		"what a plan says to delete is gone before its export has written":          41009014,
		"a value changes of what is gone and required by what is targeted":          44002904,
		"what is to be deleted was found to be gone by a comparison before":         41014863,
		"what was only compared, and found to be gone, is to be deleted":            810000659,
		"a resource runs between a purge and the event of the purge":                200042,
		"a lane is taken over, and what it lost is run where it was moved":          850036287,
		"what was read from a list is recorded twice, with what is next":            850042556,
		"the event of a purge is stored before its row, which is in conflict":       908605,
		"the object of a resource that keeps state is gone when it is to be purged": 1717,
	} {
		t.Run(why, func(t *testing.T) { holds(t, Draw(seed)) })
	}
}

// TestOnceViolated pins seeds in which the engine once violated an invariant that few seeds violate.
func TestOnceViolated(t *testing.T) {
	t.Parallel()
	for why, seed := range map[string]uint64{
		"a moved row is removed before its last state is stored under the new id (T1)": 450909,
		"a value is forgotten of a resource that still lacks another value (D4)":       8000440,
		"the time of a worker ends while one of its lanes waits beside another (late)": 2100345,
	} {
		t.Run(why, func(t *testing.T) { holds(t, Draw(seed)) })
	}
}

// TestOnceInFocus pins seeds of a focus in which the engine once violated an invariant.
func TestOnceInFocus(t *testing.T) {
	t.Parallel()
	for why, in := range map[string]struct {
		focus string
		seed  uint64
	}{
		"a plan of targets lacks a resource that the apply asks for facts":             {"kept", 1402224},
		"a plan is applied again, and a fact is gone that it has purged":               {"waved", 1400933},
		"a deploy may make a path lead somewhere, and a parameter is beside it":        {"facts", 1401515},
		"a resource returns during its purge, leaves again, and its dependant reloads": {"failures", 2003433},
		"a block ends of what is scheduled and waits for a decision":                   {"hosts", 2004109},
		"a resource is purged while it is replaced, and its removal waits for a value": {"hosts", 9101303},
		"an abandoned call stores a state while the worker waits for it":               {"labels", 2000305},
		"a lane returns claims that have left the model since":                         {"listed", 5001338},
		"a lane fails with the settings that its worker has read before":               {"moves", 5001386},
		"a dependant is claimed with a requirement that fails, and leaves it":          {"listed", 5003926},
		"a thing moves to another agent while its former id is to be purged":           {"agents", 107350},
		"a resource is forgotten while a dependant runs that waited for it":            {"targets", 8002190},
		"a release is interrupted that moves a thing whose former id is being purged":  {"agents", 20002448},
		"a resource is forgotten and exported again while it is created":               {"targets", 3216},
		"a requirement ends after the claim of its dependant, which reads from a list": {"listed", 30001911},
		"a resource is forgotten while a preview reads what is being purged":           {"waved", 30000862},
		"a purged resource gets another id in an export with limits":                   {"labels", 40004914},
		"a lane lists things while the list of another fails":                          {"shelved", 5000339},
		"a state is imported while the worker of the agent may purge it":               {"outputs", 3000870},
	} {
		t.Run(why, func(t *testing.T) { holds(t, DrawFor(in.seed, FocusOf(in.focus))) })
	}
}

// explain logs the shortest trace that is found.
func explain(t *testing.T, p *Plan, m Mutant, check string) {
	t.Helper()
	small, err := Shrink(p, m, check)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Explain(small, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(text)
}

// TestSeed shows one seed: go test ./shared/internal/simtest/engine -run TestSeed -seed N -v, and -mutant NAME.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		return
	}
	var m Mutant
	if i := slices.IndexFunc(mutants(), func(m mutant) bool { return m.Name == *name }); i >= 0 {
		m = mutants()[i].Mutant
	}
	if *focus != "" {
		m.Focus = FocusOf(*focus)
	}
	res, err := Run(DrawFor(*seed, m.Focus), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Violation == nil {
		text, err := Explain(res.Plan, m)
		t.Logf("%s\nseed %d: no violation (%v)", text, *seed, err)
		return
	}
	explain(t, res.Plan, m, res.Violation.Check)
	t.Errorf("seed %d: %s", *seed, res.Violation)
}

// starts returns the seeds from which a mutant is looked for that needs so many seeds: that it is
// found is to depend on none of them. Those that few seeds find are looked for from each; the
// others take most of the time, and are looked for from the first, unless -every is given.
func starts(within uint64) []uint64 {
	const few = 100
	all := []uint64{1, 100001, 200001}
	if within > few && !*every {
		return all[:1]
	}
	return all
}

// TestMutants pins that the simulation can fail: each fault that is built in on purpose is found
// within so many seeds, by the check that is for it.
func TestMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	for _, m := range mutants() {
		for _, first := range starts(m.within) {
			t.Run(fmt.Sprintf("%s/%d", m.Name, first), func(t *testing.T) {
				t.Parallel()
				m.find(t, first)
			})
		}
	}
}

// find looks for a mutant in so many seeds. Which check sees a fault first is chance: seeds in
// which another one did count for nothing.
func (m *mutant) find(t *testing.T, first uint64) {
	t.Helper()
	for from, end := first, first+m.within; ; {
		found, _, err := Campaign(from, end-from, m.Mutant, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case found == nil:
			t.Fatalf("%s (%s): not found by %q within %d seeds", m.Name, m.Why, m.Check, m.within)
		case m.Check == "" || found.Violation.Check == m.Check:
			holds(t, found.Plan)
			t.Logf("after %d seeds: %s", found.Plan.Seed-first+1, found.Violation)
			return
		}
		from = found.Plan.Seed + 1
	}
}

// holds pins that a plan in which a mutant was found violates nothing without it.
func holds(t *testing.T, p *Plan) {
	t.Helper()
	res, err := Run(p, Mutant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Violation != nil {
		t.Errorf("seed %d without the mutant: %s", p.Seed, res.Violation)
	}
}

// TestFocuses pins that no invariant is violated where plans have a focus.
func TestFocuses(t *testing.T) {
	t.Parallel()
	for _, f := range Focuses() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			found, _, err := Campaign(1, scaled(40, 2), Mutant{Focus: f}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if found != nil {
				t.Errorf("seed %d: %s\nshow it with: go test ./shared/internal/simtest/engine -run TestSeed "+
					"-focus %s -seed %d -v",
					found.Plan.Seed, found.Violation, f.Name, found.Plan.Seed)
			}
		})
	}
}

// TestSameSeedSameRun pins that a seed is replayed exactly.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	for s := uint64(1); s <= 20; s++ {
		one, err1 := Explain(Draw(s), Mutant{})
		two, err2 := Explain(Draw(s), Mutant{})
		if one != two || err1 != nil || err2 != nil {
			t.Fatalf("seed %d: two runs differ (%v, %v)", s, err1, err2)
		}
	}
}

// TestShrink pins that a failing plan gets smaller and still fails by the same check.
func TestShrink(t *testing.T) {
	t.Parallel()
	all := crashMutants()
	m := all[slices.IndexFunc(all, func(m mutant) bool { return m.Name == "ActionsLost" })].Mutant
	found, _, err := Campaign(1, 100, m, nil)
	if err != nil || found == nil {
		t.Fatal("not found", err)
	}
	small, err := Shrink(found.Plan, m, found.Violation.Check)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(small, m, nil)
	if err != nil || res.Violation == nil || res.Violation.Check != found.Violation.Check {
		t.Fatalf("the smaller plan: %v, %v", res.Violation, err)
	}
	if len(small.Ops) >= len(found.Plan.Ops) || len(small.Ops) > 2 {
		t.Errorf("%d operations of %d are left", len(small.Ops), len(found.Plan.Ops))
	}
	text, err := Explain(small, m)
	if err != nil || !strings.Contains(text, "VIOLATION L1") {
		t.Errorf("the trace does not show it: %v\n%s", err, text)
	}
}
