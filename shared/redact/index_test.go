package redact

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestManySecrets pins that what a secret more takes does not grow with those that are known: a
// machine may name thousands.
func TestManySecrets(t *testing.T) {
	var s Set
	add := func(i int) { s.Add(fmt.Sprintf("secret-%06d/x", i)) }
	for i := range 1000 {
		add(i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 10 {
		add(2000 + i)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("10 more secrets take %d bytes", took)
	}
	if got := s.Clean("a secret-002009/x, one secret-000000/x b", "***"); got != "a ***, one *** b" {
		t.Error(got)
	}
}

// TestIndex compares what the index finds with what trying each form finds.
func TestIndex(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abc"[rng.IntN(3)] // so that much is in a form by chance
		}
		return string(b)
	}
	for range 300 {
		var s Set
		for range 1 + rng.IntN(4) {
			s.Add(random(6 + rng.IntN(30)))
		}
		all := s.ready()
		f := all.dense[rng.IntN(len(all.dense))]
		from := rng.IntN(len(f))
		to := from + rng.IntN(len(f)-from) + 1
		if rng.IntN(3) == 0 {
			from = 0
		}
		word := random(rng.IntN(9)) + f[from:to] + random(rng.IntN(9))
		if len(word) < shortestPart {
			continue
		}
		i, j := all.index.part(word)
		if n := longestPart(all.dense, word); j-i != n {
			t.Errorf("%q: %d to %d, expected %d bytes", word, i, j, n)
		}
		text := random(20) + word + random(20)
		var within []string
		for _, f := range all.dense {
			if strings.Contains(text, f) {
				within = append(within, f)
			}
		}
		if got := all.index.within(text); fmt.Sprint(got) != fmt.Sprint(within) {
			t.Errorf("%q: %q, expected %q", text, got, within)
		}
	}
}

// longestPart tries each form.
func longestPart(forms []string, word string) int {
	longest := 0
	for _, f := range forms {
		if strings.Contains(f, word) {
			return len(word)
		}
		for n := shortestPart; n <= min(len(f), len(word)); n++ {
			if strings.HasSuffix(word, f[:n]) || strings.HasPrefix(word, f[len(f)-n:]) {
				longest = max(longest, n)
			}
		}
	}
	return longest
}

// TestCleanedAtOnce holds that texts are cleaned at the same time, by the first of them, too.
func TestCleanedAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		var s Set
		s.Add("hunter2 and the rest\nof a secret of lines")
		clone := s.Clone()
		var wg sync.WaitGroup
		for _, of := range []*Set{&s, &s, &clone, &clone} {
			wg.Go(func() {
				if got := of.Clean("so hunter2 and the rest", "…"); got != "so …" {
					t.Errorf("cleaned, it is %q", got)
				}
			})
		}
		wg.Wait()
	}
}

// TestRepeatedCharacters holds that words which begin like a long secret of one repeated character
// are taken out. It takes for ever where all of that secret is read from each of their bytes on.
func TestRepeatedCharacters(t *testing.T) {
	t.Parallel()
	var s Set
	s.Add(strings.Repeat("\x00", longestEncoded))
	words := strings.Repeat(strings.Repeat("A", 31)+"x ", 20)
	if got := s.Clean(words, "***"); strings.TrimSpace(strings.ReplaceAll(got, "***x", "")) != "" {
		t.Error(got)
	}
}
