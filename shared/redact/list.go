package redact

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// list is a sorted list of forms. It finds the forms with which a text begins or ends by binary
// search. So its speed hardly depends on the number of forms, or on their common prefixes.
type list struct {
	forms   []string
	longest int     // bytes
	shorter []int32 // for each form, the longest other form that is a prefix of it; -1: none
	begin   filter  // filter of the first bytes of forms
	end     filter  // filter of the last bytes of forms
	once    sync.Once
	byEnd   []int32 // indexes of forms, sorted by their reversed text; see ends
}

// newList creates a list of sorted forms.
func newList(forms []string) *list {
	l := &list{forms: forms, shorter: make([]int32, len(forms)), begin: newFilter(len(forms)),
		end: newFilter(len(forms))}
	for i, f := range forms {
		l.longest = max(l.longest, len(f))
		l.begin.add(f)
		l.end.add(f[len(f)-shortest:])
		// All prefixes of f precede it, and each is the longest prefix of the next one.
		k := int32(i) - 1 // cannot overflow: the number of forms is bounded
		for k >= 0 && !strings.HasPrefix(f, forms[k]) {
			k = l.shorter[k]
		}
		l.shorter[i] = k
	}
	return l
}

// merged returns the sorted union of two disjoint sorted lists.
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

// prefixes appends to out the forms that are prefixes of a text.
func (l *list) prefixes(out []string, text string) []string {
	k := sort.Search(len(l.forms), func(i int) bool { return l.forms[i] > text }) - 1
	for ; k >= 0; k = int(l.shorter[k]) {
		if strings.HasPrefix(text, l.forms[k]) {
			out = append(out, l.forms[k])
		}
	}
	return out
}

// begins reports whether a form of at least the given length begins with a text.
func (l *list) begins(text string, least int) bool {
	if !l.begin.has(text) {
		return false
	}
	k := sort.SearchStrings(l.forms, text)
	for ; k < len(l.forms) && len(l.forms[k]) < least; k++ { // only the text itself can be shorter
		if l.forms[k] != text {
			return false
		}
	}
	return k < len(l.forms) && strings.HasPrefix(l.forms[k], text)
}

// ends reports whether a form that is longer than a text ends with the text.
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

// fromEnd compares the reversed texts.
func fromEnd(a, b string) int {
	for i, j := len(a)-1, len(b)-1; i >= 0 && j >= 0; i, j = i-1, j-1 {
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
	}
	return len(a) - len(b)
}

// filter is a Bloom filter over the first bytes of texts. It excludes most texts with which no form
// begins.
type filter struct {
	bits  []uint64
	shift int
}

// newFilter creates a filter for n forms.
func newFilter(n int) filter {
	f := filter{shift: 32 - 6}
	for 1<<(32-f.shift) < n*bitsEach && f.shift > 8 {
		f.shift--
	}
	f.bits = make([]uint64, 1<<(32-f.shift)/64)
	return f
}

// hash mixes the first three bytes of a text, the length of the shortest secret.
func hash(text string) uint32 {
	const odd = 0x9e3779b1 // 2^32 divided by the golden ratio: spreads similar texts
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
