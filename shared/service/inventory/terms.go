package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// MaxTerms is the number of terms of an instance that an index contains.
const MaxTerms = 100

// maxTerm is the length of a term in bytes. A longer one is replaced by its hash.
const maxTerm = 120

// Terms returns the values of the attributes of an instance, in the form that indexes of stores
// contain: those of its candidate and its active set, sorted and without duplicates. If it has more
// than MaxTerms, Terms returns false: only its record then decides whether a filter matches.
func Terms(r *Record) (terms []string, all bool) {
	for _, set := range []map[string]any{r.Candidate, r.Active} {
		for name := range set {
			for _, v := range scalars(set[name]) {
				terms = append(terms, term(name, '=', Text(v)))
				if f, is := plainNumber(v).(float64); is {
					terms = append(terms, term(name, '#', written(f)))
				}
			}
		}
		slices.Sort(terms)
		if terms = slices.Compact(terms); len(terms) > MaxTerms {
			return nil, false
		}
	}
	return terms, true
}

// Sought returns the terms of an attribute and a text: an instance whose attribute is called so has
// at least one of them.
func Sought(name, text string) []string {
	out := []string{term(name, '=', text)}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		out = append(out, term(name, '#', written(f)))
	}
	return out
}

func term(name string, kind byte, text string) string {
	out := name + string(kind) + text
	if len(out) > maxTerm {
		sum := sha256.Sum256([]byte(out))
		return hex.EncodeToString(sum[:])
	}
	return out
}

// written returns a float as text. Both zeros are equal.
func written(f float64) string { return strconv.FormatFloat(f+0, 'g', -1, 64) }
