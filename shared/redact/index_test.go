package redact

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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

// TestIndex compares what the indexes find with what trying each form finds, however many times texts
// were cleaned while secrets were added.
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
		for range 1 + rng.IntN(8) {
			s.Add(random(3 + rng.IntN(33)))
			if rng.IntN(2) == 0 {
				s.Clean("x", "")
			}
			if rng.IntN(4) == 0 {
				s = s.Clone()
			}
		}
		all := s.ready()
		plain, dense := formsOf(&s, plainForms), formsOf(&s, denseForms)
		f := plain[rng.IntN(len(plain))]
		from := rng.IntN(len(f))
		to := from + rng.IntN(len(f)-from) + 1
		if rng.IntN(3) == 0 {
			from = 0
		}
		word := random(rng.IntN(9)) + f[from:to] + random(rng.IntN(9))
		text := random(20) + word + random(20)
		for how, forms := range map[kinds][]string{plainForms: plain, denseForms: dense} {
			var within []string
			for _, f := range forms {
				if strings.Contains(text, f) {
					within = append(within, f)
				}
			}
			if got := all.within(text, how); !slices.Equal(got, within) {
				t.Errorf("%q: %q, expected %q", text, got, within)
			}
		}
		ended, began := cutsOf(plain, word)
		if i, j := all.endsIn(word), all.beginsIn(word); i != ended || j != began {
			t.Errorf("%q: %d and %d, expected %d and %d bytes", word, i, j, ended, began)
		}
		if len(word) < shortestPart {
			continue
		}
		i, j := all.part(word)
		if n := longestPart(dense, word); j-i != n {
			t.Errorf("%q: %d to %d, expected %d bytes", word, i, j, n)
		}
	}
}

// formsOf returns what is looked for in a way, the longest first.
func formsOf(s *Set, how kinds) []string {
	var out []string
	for f, is := range s.known {
		if is&how != 0 {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, longestFirst)
	return out
}

// cutsOf tries each form: how much of a word is the end of one, and how much the beginning.
func cutsOf(forms []string, word string) (ended, began int) {
	for _, f := range forms {
		for n := shortest; n < len(f) && n <= len(word); n++ {
			if strings.HasSuffix(f, word[:n]) {
				ended = max(ended, n)
			}
			if strings.HasPrefix(f, word[len(word)-n:]) {
				began = max(began, n)
			}
		}
	}
	return ended, began
}

// TestRunsAreFew pins that what is added and looked for in turn makes few indexes, which are as good
// as one.
func TestRunsAreFew(t *testing.T) {
	t.Parallel()
	var s Set
	for i := range 200 {
		secret := fmt.Sprintf("secret-%06d/x", i)
		s.Add(secret)
		if got := s.Clean("a "+secret+", secret-000000/x", "***"); got != "a ***, ***" {
			t.Fatal(got)
		}
	}
	all := s.ready()
	n := 0
	for i, x := range all {
		n += x.size()
		if i > 0 && all[i-1].size() < 2*x.size() {
			t.Errorf("an index has %d forms, and the next one %d", all[i-1].size(), x.size())
		}
	}
	if want := len(formsOf(&s, plainForms)) + len(formsOf(&s, denseForms)); n != want {
		t.Errorf("%d forms are looked for, and not %d", n, want)
	}
}

// TestClonesGoOn has clones look for what they share while more is added to another.
func TestClonesGoOn(t *testing.T) {
	t.Parallel()
	var s Set
	var wg sync.WaitGroup
	for i := range 30 {
		s.Add(fmt.Sprintf("secret-%06d/x", i))
		clone := s.Clone()
		wg.Go(func() {
			clone.Add(fmt.Sprintf("another-%06d", i))
			text := fmt.Sprintf("secret-%06d/x, another-%06d, another-%06d", i, i, i+1)
			if got, want := clone.Clean(text, "*"), fmt.Sprintf("*, *, another-%06d", i+1); got !=
				want {
				t.Errorf("%q, not %q", got, want)
			}
		})
		if i%3 == 0 {
			s.Clean("x", "*")
		}
	}
	wg.Wait()
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
