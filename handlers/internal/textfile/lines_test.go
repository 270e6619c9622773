package textfile

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLinesProperties edits generated texts of all line ends, and checks the bytes against a model
// of whole lines, the index against a scan, and that Undo gives the text back.
func TestLinesProperties(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		text, end := someText(rng)
		l := LinesOf(text)
		if l.Text() != text {
			t.Fatalf("seed %d: %q became %q", seed, text, l.Text())
		}
		computed := 0
		x := l.Index("first letter", func(s string) []string {
			computed++
			return []string{firstOf(s)}
		})
		l.Begin()
		for range rng.IntN(6) {
			from := rng.IntN(l.Len() + 1)
			to := from + rng.IntN(l.Len()-from+1)
			var others []string
			for range rng.IntN(4) {
				others = append(others, string(rune('a'+rng.IntN(4)))+"+")
			}
			want := slices.Replace(texts(l), from, to, others...)
			before, n := l.Text(), l.Len()
			l.Replace(from, to, others...)
			if got := texts(l); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %q is %q, not %q", seed, before, got, want)
			}
			if from == n && from == to && len(others) > 0 && !strings.HasSuffix(l.Text(), end) {
				t.Fatalf("seed %d: the line added to %q has no end: %q", seed, before, l.Text())
			}
			if again := LinesOf(l.Text()); len(want) > 1 && end != carriage &&
				!slices.Equal(texts(again), want) {
				t.Fatalf("seed %d: %q is read back as %q", seed, l.Text(), texts(again))
			}
			for _, key := range []string{"", "a", "b", "c", "d"} {
				scan := l.Find(func(s string) bool { return firstOf(s) == key })
				if got := x.Find(l, key); !slices.Equal(got, scan) {
					t.Fatalf("seed %d: key %q is at %v, not at %v", seed, key, got, scan)
				}
			}
		}
		distinct := map[string]bool{}
		for s := range x.known {
			distinct[s] = true
		}
		if computed > len(distinct) {
			t.Fatalf("seed %d: the keys of %d lines were computed %d times", seed, len(distinct),
				computed)
		}
		if l.Undo(); l.Text() != text {
			t.Fatalf("seed %d: undone, %q is %q", seed, text, l.Text())
		}
	}
}

func firstOf(s string) string { return s[:min(len(s), 1)] }

func texts(l *Lines) []string {
	var out []string
	for i := range l.Len() {
		out = append(out, l.At(i))
	}
	return out
}

// someText returns a text, and how its lines end.
func someText(rng *rand.Rand) (text, end string) {
	end = []string{lineFeed, crLF, carriage}[rng.IntN(3)]
	var b strings.Builder
	if rng.IntN(5) == 0 {
		b.WriteString(byteOrderMark)
	}
	n := rng.IntN(6)
	for i := range n {
		b.WriteString([]string{"", "a", "bb", "c c", "d\u00e9", " "}[rng.IntN(6)])
		if i < n-1 || rng.IntN(2) == 0 {
			b.WriteString(end)
		}
	}
	text = b.String()
	if n < 2 || !strings.Contains(text, end) {
		end = "" // it has no line end that others could follow
	}
	return text, end
}
