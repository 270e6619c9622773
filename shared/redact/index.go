package redact

import (
	"hash/maphash"
	"slices"
	"strings"
)

// index finds forms in texts without trying each: a secret of thousands of lines has tens of
// thousands of forms, and a machine may name thousands of secrets.
type index struct {
	begin map[string][]string // forms by their first bytes, longest first
	all   string              // all forms, with a byte between them that is in none
	seed  maphash.Seed
	grams []uint64 // bits: by the hashes of all pieces of forms that are as long as a part
}

// bitsEach is how many bits there are for each piece: of what is in no form, one in so many is
// looked for in all.
const bitsEach = 16

// newIndex makes the index of forms, which are sorted, the longest first.
func newIndex(forms []string) *index {
	x := &index{begin: make(map[string][]string, len(forms)), all: strings.Join(forms, "\x00"),
		seed: maphash.MakeSeed()}
	for _, f := range forms {
		x.begin[f[:shortestBroken]] = append(x.begin[f[:shortestBroken]], f)
	}
	x.grams = make([]uint64, len(x.all)*bitsEach/64+1)
	for i := range len(x.all) - shortestPart + 1 {
		word, bit := x.bit(x.all[i : i+shortestPart])
		x.grams[word] |= bit
	}
	return x
}

// bit returns where it says whether a piece is in a form.
func (x *index) bit(piece string) (at int, bit uint64) {
	h := maphash.String(x.seed, piece)
	return int(h >> 6 % uint64(len(x.grams))), 1 << (h & 63) // within the bits
}

// within returns the forms that are in a text, longest first.
func (x *index) within(text string) []string {
	var out []string
	for i := range len(text) - shortestBroken + 1 {
		for _, f := range x.begin[text[i:i+shortestBroken]] {
			if strings.HasPrefix(text[i:], f) {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, longestFirst)
	return slices.Compact(out)
}

// part returns where in a word a part of a form is: all of it, its end, or its beginning; 0, 0 if
// there is none. The word is at least as long as a part.
func (x *index) part(word string) (from, to int) {
	ended := x.endOf(word)
	if ended == len(word) {
		return 0, ended
	}
	for i := range len(word) - shortestPart + 1 {
		if len(word)-i <= ended {
			break
		}
		for _, f := range x.begin[word[i:i+shortestBroken]] {
			if strings.HasPrefix(f, word[i:]) {
				return i, len(word)
			}
		}
	}
	return 0, ended
}

// endOf returns how much of a word, from its beginning on, is the end of a form; all of it also
// where it is in the middle of one.
func (x *index) endOf(word string) int {
	piece := word[:shortestPart]
	if at, bit := x.bit(piece); x.grams[at]&bit == 0 {
		return 0
	}
	if strings.Contains(x.all, word) {
		return len(word)
	}
	longest := 0
	for rest := x.all; ; rest = rest[1:] {
		i := strings.Index(rest, piece)
		if i < 0 {
			return longest
		}
		rest = rest[i:]
		// no more than the word is long: a form of one repeated character has the piece everywhere
		end := strings.IndexByte(rest[:min(len(rest), len(word)+1)], 0)
		if end < 0 && len(rest) <= len(word) {
			end = len(rest)
		}
		if end > longest && strings.HasPrefix(word, rest[:end]) {
			longest = end
		}
	}
}
