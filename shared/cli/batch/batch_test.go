package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"southbound/shared/fault"
)

// TestCutsAgents cuts random agents into waves by random flags: every agent with work is in one
// wave, in order, unless a name or a size says otherwise.
func TestCutsAgents(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var w Workload
		for i := range rng.IntN(12) {
			name := fmt.Sprint("a", i)
			w.Known = append(w.Known, name)
			if rng.IntN(3) > 0 {
				w.Agents = append(w.Agents, name)
			}
		}
		rng.Shuffle(len(w.Agents), func(i, j int) {
			w.Agents[i], w.Agents[j] = w.Agents[j], w.Agents[i]
		})
		f := Flags{Parallel: rng.IntN(4)}
		var items, names []string
		for range rng.IntN(5) {
			switch n := rng.IntN(3); {
			case n == 0 && len(w.Known) > 0:
				items = append(items, w.Known[rng.IntN(len(w.Known))])
				names = append(names, items[len(items)-1])
			case n == 1:
				items = append(items, fmt.Sprint(1+rng.IntN(4)))
			default:
				items = append(items, fmt.Sprintf("%d%%", 1+rng.IntN(100)))
			}
		}
		f.Batch = strings.Join(items, ",")
		before := slices.Clone(w.Agents)
		waves, idle, err := f.Waves(w)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		said := fmt.Sprintf("seed %d: %q of %v: %v", seed, f.Batch, before, waves)
		if !slices.Equal(before, w.Agents) {
			t.Errorf("%s: the workload has changed to %v", said, w.Agents)
		}
		all := slices.Concat(waves...)
		inAll := slices.Sorted(slices.Values(all))
		if !slices.Equal(inAll, slices.Sorted(slices.Values(before))) {
			t.Errorf("%s: not every agent is in one wave", said)
		}
		var free, kept []string // neither is named
		for _, a := range before {
			if !slices.Contains(names, a) {
				kept = append(kept, a)
			}
		}
		for i, wave := range waves {
			if len(wave) == 0 || f.Parallel > 0 && len(wave) > f.Parallel {
				t.Errorf("%s: wave %d", said, i+1)
			}
			for _, a := range wave {
				if !slices.Contains(names, a) {
					free = append(free, a)
				} else if len(wave) != 1 {
					t.Errorf("%s: %s is named and not alone", said, a)
				}
			}
		}
		if !slices.Equal(free, kept) {
			t.Errorf("%s: the order of %v is not kept", said, kept)
		}
		for _, a := range names {
			if slices.Contains(before, a) == slices.Contains(idle, a) {
				t.Errorf("%s: %s is named, and idle are %v", said, a, idle)
			}
		}
	}
}

// TestSizesOfWaves pins what sizes and names come to.
func TestSizesOfWaves(t *testing.T) {
	t.Parallel()
	ten := strings.Fields("b a c d e f g h i j")
	for batch, want := range map[string]string{
		"":             "b a c d e f g h i j",
		"1":            "b|a|c|d|e|f|g|h|i|j",
		"1,10%,100%":   "b|a|c d e f g h i j",
		"1,50%":        "b|a c d e f|g h i j",
		"h,1,100%":     "h|b|a c d e f g i j",
		"1,h,100%":     "b|h|a c d e f g i j",
		"1,b":          "a|b|c|d|e|f|g|h|i|j",
		"h":            "h|b a c d e f g i j",
		"h,j":          "h|j|b a c d e f g i",
		"idle,h,100%":  "h|b a c d e f g i j",
		"h,h,100%":     "h|b a c d e f g i j",
		" 3 , 100% ":   "b a c|d e f g h i j",
		"20,1":         "b a c d e f g h i j",
		"1%,100%":      "b|a c d e f g h i j",
		"hh":           "invalid",
		"1,10%,H,100%": "invalid",
		"0":            "usage",
		"-1":           "usage",
		"101%":         "usage",
		"0%":           "usage",
		"x%":           "usage",
		"1,,2":         "usage",
	} {
		f := Flags{Batch: batch}
		waves, _, err := f.Waves(Workload{Agents: ten, Known: append(slices.Clone(ten), "idle")})
		var parts []string
		for _, w := range waves {
			parts = append(parts, strings.Join(w, " "))
		}
		got := strings.Join(parts, "|")
		if err != nil {
			got = map[bool]string{true: "usage", false: "invalid"}[fault.Is(err, fault.Usage)]
			if fault.HintOf(err) == "" {
				t.Errorf("%q: no hint", batch)
			}
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", batch, got, err, want)
		}
	}
}

// TestFlagsOfGates pins which flags do not go together.
func TestFlagsOfGates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags Flags
		ok    bool
	}{
		{Flags{}, true},
		{Flags{Batch: "1", Gate: []string{"type=http::Object"}}, true},
		{Flags{Batch: "1", Gate: []string{"type=http::Object", "agent=a", "agent=b"}}, true},
		{Flags{Gate: []string{"type=http::Object"}}, false},
		{Flags{Parallel: 2, Gate: []string{"type=http::Object"}}, false},
		{Flags{Batch: "1", Gate: []string{"status=failed"}}, false},
		{Flags{Batch: "1", Gate: []string{"kind=x"}}, false},
		{Flags{Batch: "1", Gate: []string{""}}, false},
		{Flags{Parallel: -1}, false},
	} {
		if err := c.flags.Checked(); (err == nil) != c.ok || err != nil && fault.HintOf(err) == "" {
			t.Errorf("%+v: %v", c.flags, err)
		}
	}
}
