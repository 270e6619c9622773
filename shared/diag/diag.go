// Package diag holds what is wrong with an input, in a form for people and for editors.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limit is how many problems of one input are reported.
const Limit = 100

// Pos is a place in an input. Line and Column count from 1 (columns in characters); 0 means not known.
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
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Related   []Pos  `json:"related,omitempty"` // other places that take part, such as the first of two duplicates
}

// String returns the problem on one line, without the hint.
func (p Problem) String() string {
	var b strings.Builder
	if at := p.Pos.String(); at != "" {
		b.WriteString(at + ": ")
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

// Sorted returns the problems in order of place, the first Limit of them, without repeats.
func (ps Problems) Sorted() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	out = slices.CompactFunc(out, func(a, b Problem) bool {
		return a.Pos == b.Pos && a.Message == b.Message && a.Resource == b.Resource && a.Attribute == b.Attribute
	})
	if len(out) > Limit {
		out = out[:Limit]
	}
	return out
}

// Err returns the sorted problems as an error, or nil when there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps.Sorted()
}
