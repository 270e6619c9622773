package redact

import (
	"cmp"
	"slices"
	"strings"
)

// run is an index of forms, to find them in texts without trying each: a secret of thousands of lines
// has tens of thousands of forms, and a machine may name thousands of secrets.
type run struct {
	plain, dense *list
	all          string // all dense forms, with a byte between them that is in none
}

// bitsEach is how many bits a filter has for each form: one in so many texts that are in no form is
// searched for in all.
const bitsEach = 16

// newRun makes the index of forms that are in order.
func newRun(plain, dense []string) *run {
	return &run{plain: newList(plain), dense: newList(dense), all: strings.Join(dense, "\x00")}
}

// size is how many forms there are.
func (x *run) size() int { return len(x.plain.forms) + len(x.dense.forms) }

// list returns the forms that are looked for in a way.
func (x *run) list(how kinds) *list {
	if how == denseForms {
		return x.dense
	}
	return x.plain
}

// endOf returns how much of a word, from its beginning on, is the end of a form; all of it also
// where it is in the middle of one.
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

// runs are indexes that have no form in common, each at least twice as large as the next.
type runs []*run

// and returns the indexes with more forms. It leaves these as they are, for others to use.
func (all runs) and(fresh batch) runs {
	out := slices.Clone(all)
	plain, dense := slices.Clone(fresh.plain), slices.Clone(fresh.dense) // later ones go on in these
	slices.Sort(plain)
	slices.Sort(dense)
	for n := len(out) - 1; n >= 0 && out[n].size() < 2*(len(plain)+len(dense)); n-- {
		plain, dense = merged(out[n].plain.forms, plain), merged(out[n].dense.forms, dense)
		out = out[:n]
	}
	return append(out, newRun(plain, dense))
}

// within returns the forms of a kind that are in a text, longest first.
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

// longestFirst is an order of forms.
func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// part returns where in a word a part of a form is: all of it, its end, or its beginning; 0, 0 if
// there is none. The word is at least as long as a part.
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

// endsIn returns how many bytes of a text, from its beginning on, are the end of a form: as many as
// can be.
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

// beginsIn returns how many bytes at the end of a text are the beginning of a form: as many as can
// be.
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

// longest returns how many bytes the longest form has.
func (all runs) longest() int {
	n := 0
	for _, x := range all {
		n = max(n, x.plain.longest)
	}
	return n
}
