package services

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"southbound/shared/compile"
	"southbound/shared/fault"
	"southbound/shared/lang/lsm"
)

var (
	seeds = flag.Uint64("seeds", 0, "how many seeds TestLong runs; 0: none")
	first = flag.Uint64("first", 1, "the seed that TestLong begins with")
	seed  = flag.Uint64("seed", 0, "the seed that TestSeed shows; 0: none")
	name  = flag.String("mutant", "", "the mutant that TestSeed runs with; empty: none")
	every = flag.Bool("every", false,
		"look for each mutant from several first seeds, however many it needs")
)

// TestMain collects garbage less often: what a run leaves behind is garbage as a whole.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	m.Run()
}

// newModels returns the offers of simulations.
func newModels(t *testing.T) *Models {
	t.Helper()
	m, err := NewModels(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLong is TestSeeds for as many seeds as one likes: go test ./shared/internal/simtest/services -run TestLong
// -seeds 200000.
func TestLong(t *testing.T) {
	if *seeds > 0 {
		campaign(t, *first, *seeds)
	}
}

func campaign(t *testing.T, first, n uint64) map[string]int {
	t.Helper()
	m := newModels(t)
	found, kinds, done, err := Campaign(m, first, n, Mutant{})
	if err != nil {
		t.Fatal(err)
	}
	if found == nil {
		t.Logf("%d seeds, no violation", done)
		return kinds
	}
	explain(t, m, found.Plan, Mutant{}, found.Violation.Check)
	t.Fatalf("seed %d: %s\nshow it with: go test ./shared/internal/simtest/services -run TestSeed -seed %d -v",
		found.Plan.Seed, found.Violation, found.Plan.Seed)
	return nil
}

// TestOnceWrong pins seeds that have found something. What a seed draws changes with the plans: one
// whose plan no longer does what is said of it can go.
func TestOnceWrong(t *testing.T) {
	t.Parallel()
	m := newModels(t)
	for why, seed := range map[string]uint64{
		"a delete is not exported, and what was there before is well":     1012792,
		"what has failed is well before the counts of resources are read": 1006762,
	} {
		res, err := Run(m, Draw(seed), Mutant{}, nil)
		if err != nil || res.Violation != nil {
			t.Errorf("%s (seed %d): %v, %v", why, seed, res.Violation, err)
		}
	}
}

// explain logs the shortest trace that is found.
func explain(t *testing.T, m *Models, p *Plan, mutant Mutant, check string) {
	t.Helper()
	text, err := Explain(m, Shrink(m, p, mutant, check), mutant)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(text)
}

// TestSeed shows one seed: go test ./shared/internal/simtest/services -run TestSeed -seed N -v, and -mutant NAME.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		return
	}
	var mutant Mutant
	if i := slices.IndexFunc(mutants(), func(m mutantCase) bool {
		return m.Name == *name
	}); i >= 0 {
		mutant = mutants()[i].Mutant
	}
	m := newModels(t)
	res, err := Run(m, Draw(*seed), mutant, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Violation == nil {
		text, err := Explain(m, res.Plan, mutant)
		t.Logf("%s\nseed %d: no violation (%v)", text, *seed, err)
		return
	}
	explain(t, m, res.Plan, mutant, res.Violation.Check)
	t.Errorf("seed %d: %s", *seed, res.Violation)
}

// TestSameSeedSameRun pins that a seed is replayed exactly.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	m := newModels(t)
	for seed := range uint64(10) {
		one, err1 := Explain(m, Draw(seed), Mutant{})
		two, err2 := Explain(m, Draw(seed), Mutant{})
		if one != two || err1 != nil || err2 != nil {
			t.Fatalf("seed %d: two runs differ (%v, %v)", seed, err1, err2)
		}
	}
}

// TestSeeds pins that no rule is violated in the first seeds, and that what customers, models and
// faults can do comes about in them.
func TestSeeds(t *testing.T) {
	t.Parallel()
	n := uint64(400)
	if testing.Short() {
		n = 20
	}
	kinds := campaign(t, 1, n)
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%6d %s", kinds[k], k)
	}
	for _, k := range wanted() {
		if kinds[k] == 0 && n > few {
			t.Errorf("%q never happens in %d seeds", k, n)
		}
	}
}

// few seeds have not everything happen, and take no time.
const few = 100

// wanted are the kinds of things that are to happen.
func wanted() []string {
	out := []string{
		"compile that fails", "promotion", "crash of the worker", "update to another definition",
		"promotion that is forbidden", "visit", "page that is followed fails", "move", "move back",
		"rest after a move", "rest after a move back",
	}
	for _, k := range []kind{
		opCreate, opUpdate, opEdit, opDelete, opState, opSeveral, opMetadata, opOffer, opRollout, opBack,
	} {
		out = append(out, "accepted "+string(k), "refused "+string(k))
	}
	for _, k := range []kind{opRelease, opTarget, opClaim} {
		out = append(out, "done "+string(k), "refused "+string(k))
	}
	out = append(out, "done "+string(opStore))
	for _, s := range []string{
		"up", "failed", "rejected", "update_rejected", "update_failed", "rollback", "terminated",
		"deleting_failed", "creating", "updating", "deallocating",
	} {
		out = append(out, "state "+s)
	}
	return out
}

// TestCompiler holds the compiler of the simulation against that of models, with what compiles of
// seeds are for.
func TestCompiler(t *testing.T) {
	t.Parallel()
	compiles := 60
	if testing.Short() {
		compiles = 10
	}
	m := newModels(t)
	seen, failed, n := map[string]bool{}, 0, 0
	both := func(to Compile) Compile {
		return func(
			ctx context.Context, digest string, s *lsm.Services,
		) (*compile.Compiled, error) {
			key := fmt.Sprint(digest, s.Instances())
			asked := s.Others
			rest := map[string][]lsm.Instance{}
			lost := false // the process ended while it asked for others
			s.Others = func(service string) ([]lsm.Instance, error) {
				sets, err := asked(service)
				rest[service], lost = sets, lost || err != nil
				return sets, err
			}
			fast, err := to(ctx, digest, s)
			enough := n >= compiles && (err == nil || failed > 0) // one that fails is among them
			if seen[key] || enough || lost || fault.KindOf(err) == fault.Unavailable {
				return fast, err
			}
			seen[key], n = true, n+1
			again := lsm.NewServices(s.Instances())
			again.Others = func(service string) ([]lsm.Instance, error) {
				return rest[service], nil
			}
			slow, wrong := m.real(context.Background(), digest, again)
			if (err == nil) != (wrong == nil) {
				t.Errorf("%s: %v, and %v", key, err, wrong)
			}
			if err != nil {
				failed++
				return fast, err
			}
			if a, b := shown(fast, s), shown(slow, again); a != b {
				t.Errorf("%s:\n%s, and\n%s", key, a, b)
			}
			return fast, err
		}
	}
	const maxSeeds = 500
	for seed := uint64(1); n < compiles || failed == 0 && seed < maxSeeds; seed++ {
		if _, err := Run(m, Draw(seed), Mutant{Compile: both}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if failed == 0 {
		t.Error("no compile has failed")
	}
}

// shown returns what came of a compile.
func shown(c *compile.Compiled, s *lsm.Services) string {
	var out []string
	for i := range c.Resources.Resources {
		text, err := json.Marshal(c.Resources.Resources[i].Members)
		if err != nil {
			return err.Error()
		}
		out = append(out, string(text))
	}
	for _, u := range s.Updates {
		out = append(out, fmt.Sprint(u))
	}
	for id, follows := range c.Followed {
		out = append(out, fmt.Sprint(id, " follows ", follows))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
