package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Set is a set of secrets to be removed from texts. The zero Set is empty. Texts may be cleaned
// concurrently, but not while a secret is added.
//
// Forms are found by indexes. If adding secrets and cleaning texts alternate, a new index of all
// forms after each addition would cost more and more. So the forms added since the last index
// become an index of their own, and two indexes of similar size are merged. Each form is thus
// merged O(log n) times.
type Set struct {
	known map[string]kinds
	fresh batch // forms that are not in the base of the view
	view  *view // view of all forms; nil: no form was added
}

// kinds is a set of ways to search for a form.
type kinds uint8

const (
	plainForms kinds = 1 << iota // unchanged
	denseForms                   // also broken into lines or groups of digits, and in parts
)

// batch holds forms in the order of their addition.
type batch struct{ plain, dense []string }

// view is the content of a Set at a point in time, which clones of the Set share.
type view struct {
	mu    sync.Mutex
	base  runs
	fresh batch // forms that are not in the base
	made  bool  // the base is complete
}

// Add adds a secret in all its forms. Each line of a secret of several lines is added as a secret
// too, since programs print lines separately.
func (s *Set) Add(value string) {
	parts := []string{value, strings.TrimSpace(value)}
	if strings.Contains(value, "\n") {
		parts = append(parts, strings.Split(value, "\n")...)
	}
	if s.known == nil {
		s.known = map[string]kinds{}
	}
	base := s.base()
	for _, part := range parts {
		part = strings.TrimRight(part, "\r")
		if len(part) < shortest || s.known[part] != 0 {
			continue
		}
		dense := broken(part)
		for _, f := range append(append(encoded(part), dense...), part) {
			s.note(f, shortest, plainForms, &s.fresh.plain)
		}
		for _, f := range dense {
			s.note(f, shortestBroken, denseForms, &s.fresh.dense)
		}
		s.view = &view{base: base, fresh: s.fresh}
	}
}

// base returns the indexes to which new forms are added. It clears fresh if the indexes contain
// these forms.
func (s *Set) base() runs {
	if s.view == nil {
		return nil
	}
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	if s.view.made {
		s.fresh = batch{}
	}
	return s.view.base
}

// note appends a form to a list, unless the form is too short or already known in this kind.
func (s *Set) note(f string, least int, how kinds, to *[]string) {
	if len(f) >= least && s.known[f]&how == 0 {
		s.known[f] |= how
		*to = append(*to, f)
	}
}

// Clone returns an independent copy of the set.
func (s *Set) Clone() Set {
	return Set{
		known: maps.Clone(s.known), view: s.view,
		fresh: batch{slices.Clip(s.fresh.plain), slices.Clip(s.fresh.dense)},
	}
}

// ready returns the indexes of all forms.
func (s *Set) ready() runs {
	if s.view == nil {
		return nil
	}
	v := s.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.made {
		v.base, v.fresh, v.made = v.base.and(v.fresh), batch{}, true
	}
	return v.base
}
