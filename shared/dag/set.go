package dag

import "math/bits"

const wordBits = 64

// set is a set of nodes. Bit i of its first level says whether i is in it, and bit i of each level
// above whether word i of the level below has any. The last level is a single word. The zero value
// is empty, and nothing can be added to it.
type set [][]uint64

// newSet returns an empty set of nodes below n.
func newSet(n int) set {
	var s set
	for {
		n = max(1, (n+wordBits-1)/wordBits)
		if s = append(s, make([]uint64, n)); n == 1 {
			return s
		}
	}
}

// add adds a node.
func (s set) add(i int) {
	for _, level := range s {
		word := &level[i/wordBits]
		had := *word != 0
		*word |= 1 << (i % wordBits)
		if had {
			return // the levels above say so
		}
		i /= wordBits
	}
}

// takeLeast takes out the smallest node; false: there is none.
func (s set) takeLeast() (int, bool) {
	if len(s) == 0 || s[len(s)-1][0] == 0 {
		return 0, false
	}
	least := 0
	for k := len(s) - 1; k >= 0; k-- {
		least = least*wordBits + bits.TrailingZeros64(s[k][least])
	}
	at := least
	for _, level := range s {
		word := &level[at/wordBits]
		*word &^= 1 << (at % wordBits)
		if *word != 0 {
			break
		}
		at /= wordBits
	}
	return least, true
}
