package redact

import (
	"cmp"
	"slices"
	"strings"
)

// run is an index of forms. It finds forms in a text without trying each of them. A secret of
// thousands of lines has tens of thousands of forms, and a machine may name thousands of secrets.
type run struct {
	plain, dense *list
	all          string // all dense forms, separated by a byte that no form contains
}

// bitsEach is the number of bits of a filter for each form. Of the texts that are in no form, one
// in bitsEach passes the filter and is searched for.
const bitsEach = 16

// newRun creates the index of sorted forms.
func newRun(plain, dense []string) *run {
	return &run{plain: newList(plain), dense: newList(dense), all: strings.Join(dense, "\x00")}
}

// size returns the number of forms.
func (x *run) size() int { return len(x.plain.forms) + len(x.dense.forms) }

// list returns the forms of a kind.
func (x *run) list(how kinds) *list {
	if how == denseForms {
		return x.dense
	}
	return x.plain
}

// endOf returns the length of the longest prefix of a word that is the end of a form. It returns
// the whole length if the word is inside a form.
func (x *run) endOf(word string) int {
	piece := word[:shortestPart]
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
		// The search is limited to the length of the word, since a form of one repeated character
		// contains the piece everywhere.
		end := strings.IndexByte(rest[:min(len(rest), len(word)+1)], 0)
		if end < 0 && len(rest) <= len(word) {
			end = len(rest)
		}
		if end > longest && strings.HasPrefix(word, rest[:end]) {
			longest = end
		}
	}
}

// runs is a list of disjoint indexes, each at least twice as large as the next.
type runs []*run

// and returns the indexes with more forms. It does not modify all, which clones of a Set share.
func (all runs) and(fresh batch) runs {
	out := slices.Clone(all)
	// a Set may append to the originals
	plain, dense := slices.Clone(fresh.plain), slices.Clone(fresh.dense)
	slices.Sort(plain)
	slices.Sort(dense)
	for n := len(out) - 1; n >= 0 && out[n].size() < 2*(len(plain)+len(dense)); n-- {
		plain, dense = merged(out[n].plain.forms, plain), merged(out[n].dense.forms, dense)
		out = out[:n]
	}
	return append(out, newRun(plain, dense))
}

// within returns the forms of a kind that a text contains, longest first.
func (all runs) within(text string, how kinds) []string {
	var out []string
	for i := range len(text) - shortest + 1 {
		h := hash(text[i:])
		for _, x := range all {
			if l := x.list(how); l.begin.hasHash(h) {
				out = l.prefixes(out, text[i:])
			}
		}
	}
	slices.SortFunc(out, longestFirst)
	return slices.Compact(out)
}

// longestFirst orders forms by descending length.
func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// part returns the range of a word that is a form or part of one. This is the whole word, or an end
// of a form at its start, or a beginning of a form at its end. It returns 0, 0 if there is none.
// The word has at least shortestPart bytes.
func (all runs) part(word string) (from, to int) {
	ended := 0
	for _, x := range all {
		ended = max(ended, x.endOf(word))
	}
	if ended == len(word) {
		return 0, ended
	}
	for i := range len(word) - shortestPart + 1 {
		if len(word)-i <= ended {
			break
		}
		for _, x := range all {
			if x.dense.begins(word[i:], 0) {
				return i, len(word)
			}
		}
	}
	return 0, ended
}

// endsIn returns the length of the longest prefix of a text that is the end of a form.
func (all runs) endsIn(text string) int {
	for n := min(len(text), all.longest()-1); n >= shortest; n-- {
		for _, x := range all {
			if x.plain.ends(text[:n]) {
				return n
			}
		}
	}
	return 0
}

// beginsIn returns the length of the longest suffix of a text that is the beginning of a form.
func (all runs) beginsIn(text string) int {
	for n := min(len(text), all.longest()-1); n >= shortest; n-- {
		for _, x := range all {
			if x.plain.begins(text[len(text)-n:], n+1) {
				return n
			}
		}
	}
	return 0
}

// longest returns the length of the longest form, in bytes.
func (all runs) longest() int {
	n := 0
	for _, x := range all {
		n = max(n, x.plain.longest)
	}
	return n
}
