package source

import (
	"fmt"

	"southbound/shared/diag"
)

// place is a line and a column, from 1; columns count characters.
type place struct{ line, column int32 }

func (p place) in(file string) diag.Pos {
	return diag.Pos{File: file, Line: int(p.line), Column: int(p.column)}
}

type kind byte

const (
	scalar kind = iota
	list
	object
)

// node is a value of a YAML or JSON document, and its place in the file. It is discarded after its
// conversion to an agent, a resource or a default.
type node struct {
	key   string // its name, in an object
	keyAt place
	at    place
	value any // of scalars: nil, bool, string, int64, *big.Int or float64
	items []node
	kind  kind
	zero  bool // an integer with leading zeros, such as 0644
	bad   bool // a problem with it, or with a missing member, has been reported
}

func (n *node) null() bool { return n.kind == scalar && n.value == nil }

// get returns a member of an object, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.items {
		if n.items[i].key == key {
			return &n.items[i]
		}
	}
	return nil
}

// maxDepth is the maximum nesting of lists and maps.
const maxDepth = 100

// twice returns an earlier member with the same name, or nil. seen is nil while the object is
// small.
func twice(before []node, key string, seen map[string]int) *node {
	if seen != nil {
		if i, ok := seen[key]; ok {
			return &before[i]
		}
		return nil
	}
	for i := range before {
		if before[i].key == key {
			return &before[i]
		}
	}
	return nil
}

// smallObject is the number of members up to which a linear search is faster than a map.
const smallObject = 16

// append adds a member to an object, and reports a duplicate name.
func (r *report) append(members []node, seen map[string]int, m node) ([]node, map[string]int) {
	if first := twice(members, m.key, seen); first != nil {
		r.add(m.keyAt, "remove one of the two", "%q is there twice, first at %d:%d", short(m.key),
			first.keyAt.line, first.keyAt.column).
			Related = diag.At(first.keyAt.in(r.file))
		return members, seen
	}
	if len(members) == smallObject {
		seen = make(map[string]int, 2*smallObject)
		for i := range members {
			seen[members[i].key] = i
		}
	}
	if seen != nil {
		seen[m.key] = len(members)
	}
	return append(members, m), seen
}

// short truncates a text for a message.
func short(s string) string {
	const limit = 60
	n := 0
	for i := range s {
		if n++; n > limit {
			return s[:i] + "…"
		}
	}
	return s
}

// report collects the problems of one file.
type report struct {
	file   string
	list   diag.Problems
	last   place   // of the last problem in the text
	more   []place // of further problems, which are counted but not kept
	broken []place // of syntax errors, which belong to no resource
	values int     // number of values read from JSON
}

// maxProblems is the number of problems that a report keeps. It exceeds the number of shown
// problems, so that those are the first in the text. Of further problems only the place is kept,
// since an input of 100 MiB may have problems everywhere.
const maxProblems = 10 * diag.Limit

// add adds a problem and returns it, so that the caller can complete it. The result is valid until
// the next add.
func (r *report) add(at place, hint, format string, args ...any) *diag.Problem {
	if len(r.list) >= maxProblems {
		r.more = append(r.more, at)
		return &diag.Problem{}
	}
	if at.compare(r.last) > 0 {
		r.last = at
	}
	r.list = append(r.list, diag.Problem{Pos: at.in(r.file), Message: fmt.Sprintf(format, args...),
		Hint: hint})
	return &r.list[len(r.list)-1]
}

// syntax adds a syntax error.
func (r *report) syntax(at place, hint, format string, args ...any) {
	r.broken = append(r.broken, at)
	r.add(at, hint, format, args...)
}

func (r *report) clean() bool { return len(r.list) == 0 }
