package redact

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// list is forms in order. It tells which of them a text begins or ends with by halving, so that it
// hardly matters how many there are, and what they have in common.
type list struct {
	forms   []string
	longest int     // bytes
	shorter []int32 // for each form, the longest other one that it begins with; -1: none
	begin   filter  // how forms begin
	end     filter  // how they end
	once    sync.Once
	byEnd   []int32 // the forms in order of what they end with, see ends
}

// newList makes a list of forms that are in order.
func newList(forms []string) *list {
	l := &list{forms: forms, shorter: make([]int32, len(forms)), begin: newFilter(len(forms)),
		end: newFilter(len(forms))}
	for i, f := range forms {
		l.longest = max(l.longest, len(f))
		l.begin.add(f)
		l.end.add(f[len(f)-shortest:])
		// All that f begins with are in front of it, each the shorter one of the next.
		k := int32(i) - 1 // secrets are bounded
		for k >= 0 && !strings.HasPrefix(f, forms[k]) {
			k = l.shorter[k]
		}
		l.shorter[i] = k
	}
	return l
}

// merged returns the forms of two lists, which have none in common, in order.
func merged(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// prefixes adds the forms that a text begins with.
func (l *list) prefixes(out []string, text string) []string {
	k := sort.Search(len(l.forms), func(i int) bool { return l.forms[i] > text }) - 1
	for ; k >= 0; k = int(l.shorter[k]) {
		if strings.HasPrefix(text, l.forms[k]) {
			out = append(out, l.forms[k])
		}
	}
	return out
}

// begins reports whether a form begins with a text and is at least so long.
func (l *list) begins(text string, least int) bool {
	if !l.begin.has(text) {
		return false
	}
	k := sort.SearchStrings(l.forms, text)
	for ; k < len(l.forms) && len(l.forms[k]) < least; k++ { // the text itself, at most
		if l.forms[k] != text {
			return false
		}
	}
	return k < len(l.forms) && strings.HasPrefix(l.forms[k], text)
}

// ends reports whether a form that is longer than a text ends with it.
func (l *list) ends(text string) bool {
	if !l.end.has(text[len(text)-shortest:]) {
		return false
	}
	l.once.Do(func() {
		l.byEnd = make([]int32, len(l.forms))
		for i := range l.byEnd {
			l.byEnd[i] = int32(i)
		}
		slices.SortFunc(l.byEnd, func(a, b int32) int { return fromEnd(l.forms[a], l.forms[b]) })
	})
	k := sort.Search(len(l.byEnd),
		func(i int) bool { return fromEnd(l.forms[l.byEnd[i]], text) > 0 })
	return k < len(l.byEnd) && strings.HasSuffix(l.forms[l.byEnd[k]], text)
}

// fromEnd compares texts from their ends.
func fromEnd(a, b string) int {
	for i, j := len(a)-1, len(b)-1; i >= 0 && j >= 0; i, j = i-1, j-1 {
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
	}
	return len(a) - len(b)
}

// filter tells most of what no form begins with from what one does.
type filter struct {
	bits  []uint64
	shift int
}

// newFilter makes a filter for so many forms.
func newFilter(n int) filter {
	f := filter{shift: 32 - 6}
	for 1<<(32-f.shift) < n*bitsEach && f.shift > 8 {
		f.shift--
	}
	f.bits = make([]uint64, 1<<(32-f.shift)/64)
	return f
}

// hash mixes the first bytes of a text, of which there are as many as in the shortest secret.
func hash(text string) uint32 {
	const odd = 0x9e3779b1 // spreads what is alike: the golden ratio of 32 bits
	return (uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16) * odd
}

func (f *filter) add(text string) {
	h := hash(text) >> f.shift
	f.bits[h/64] |= 1 << (h % 64)
}

func (f *filter) has(text string) bool { return f.hasHash(hash(text)) }

func (f *filter) hasHash(h uint32) bool {
	h >>= f.shift
	return f.bits[h/64]&(1<<(h%64)) != 0
}
