// Package diag holds what is wrong with an input, in a form for people and for editors.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limit is how many problems of one input are shown; the others are counted.
const Limit = 100

// Pos is a place in an input. Line and Column count from 1 (columns in characters); 0 means not
// known.
type Pos struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String returns "file:line:column" with what is known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing that is wrong: what, where, and what to do.
type Problem struct {
	Pos
	Resource  string `json:"resource,omitempty"`
	Attribute string `json:"attribute,omitempty"`
	// Instance is the id of the wrong instance of a service, and Identity its identity, if known.
	Instance string `json:"instance,omitempty"`
	Identity string `json:"identity,omitempty"`
	// Pointer is a JSON pointer to the wrong value in the body of a request, if it came from one.
	Pointer string `json:"pointer,omitempty"`
	Code    string `json:"code,omitempty"` // a stable word for what is wrong, where there is one
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Related are other places that take part, such as the first of two duplicates.
	Related []Related `json:"related,omitempty"`
}

// Related is another place that takes part in a problem, and, where that is not clear, how.
type Related struct {
	Pos
	Message string `json:"message"`
}

// At returns places that take part and need no words.
func At(places ...Pos) []Related {
	out := make([]Related, len(places))
	for i, p := range places {
		out[i].Pos = p
	}
	return out
}

// String returns the problem on one line, without the hint.
func (p Problem) String() string {
	var b strings.Builder
	if at := p.Pos.String(); at != "" {
		b.WriteString(at + ": ")
	}
	switch {
	case p.Identity != "":
		b.WriteString("instance " + p.Identity + " (" + p.Instance + "): ")
	case p.Instance != "":
		b.WriteString("instance " + p.Instance + ": ")
	}
	if p.Resource != "" {
		b.WriteString(p.Resource + ": ")
	}
	if p.Attribute != "" {
		b.WriteString(p.Attribute + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are all the things that are wrong with an input; it is an error when it is not empty.
type Problems []Problem

// Error returns all problems, a line each.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Add appends a problem.
func (ps *Problems) Add(p Problem) { *ps = append(*ps, p) }

// sorted returns the problems in order of place, without repeats. What was written once and stands
// for resources on several agents has the same problem on each: it is reported once, for the first,
// and says for how many more.
func (ps Problems) sorted() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
	return merged(out)
}

// merged joins problems of one place that are the same but for their resource, and drops repeats.
func merged(sorted Problems) Problems {
	out := make(Problems, 0, len(sorted))
	others := map[int]map[string]bool{} // of problems in out, the further resources that have them
	first := 0                          // of those in out at the place at hand
	for _, p := range sorted {
		if len(out) > 0 && out[len(out)-1].Pos != p.Pos {
			first = len(out)
		}
		i := slices.IndexFunc(out[first:], p.same) + first
		switch {
		case i < first:
			out = append(out, p)
		case out[i].Resource != p.Resource:
			if others[i] == nil {
				others[i] = map[string]bool{}
			}
			others[i][p.Resource] = true
		}
	}
	for i, resources := range others {
		noun := "resources"
		if len(resources) == 1 {
			noun = "resource"
		}
		out[i].Message += fmt.Sprintf(" (the same for %d more %s described here)", len(resources),
			noun)
	}
	return out
}

// same reports whether two problems at a known place differ at most in the resource.
func (p Problem) same(q Problem) bool {
	return p.Pos == q.Pos && p.Message == q.Message && p.Attribute == q.Attribute &&
		p.Instance == q.Instance && (p.Resource == q.Resource || p.Line > 0)
}

// Err returns the sorted problems as an error, or nil when there are none. When there are more than
// Limit it is a TooMany.
func (ps Problems) Err() error { return ps.ErrAnd(0) }

// ErrAnd is Err where a number of further problems, all behind the first Limit, were counted and
// not kept.
func (ps Problems) ErrAnd(more int) error {
	if len(ps) == 0 {
		return nil
	}
	out := ps.sorted()
	if len(out) > Limit {
		more += len(out) - Limit
		out = out[:Limit]
	}
	if more > 0 {
		return TooMany{Problems: out, More: more}
	}
	return out
}

// TooMany are the first Limit problems of an input that has more. It is also the Problems in it.
type TooMany struct {
	Problems
	More int // how many more there are
}

// Error returns the problems, a line each, and how many more there are.
func (e TooMany) Error() string {
	return fmt.Sprintf("%s\nand %d more", e.Problems.Error(), e.More)
}

// Unwrap implements errors.Unwrap.
func (e TooMany) Unwrap() error { return e.Problems }

// Of returns the problems that an error is, and how many more there are; none if it is another
// error.
func Of(err error) (problems Problems, more int) {
	var many TooMany
	if errors.As(err, &many) {
		return many.Problems, many.More
	}
	errors.As(err, &problems)
	return problems, 0
}
