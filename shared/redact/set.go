package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Set is secrets that are to be in no text. The zero Set has none. While none is added, texts may be
// cleaned at the same time.
//
// Forms are looked for by indexes. To make one anew for each secret that is added would cost the
// more the more there are, where secrets are named and texts are cleaned in turn. So what was added
// since becomes an index of its own, and two of about one size are merged: each form is merged as
// often as the number of forms has digits in binary.
type Set struct {
	known map[string]kinds
	fresh batch // what is not in the base of the view
	view  *view // of all that was added; nil: nothing was
}

// kinds says how a form is looked for.
type kinds uint8

const (
	plainForms kinds = 1 << iota // as it is
	denseForms                   // also broken into lines or groups of digits, and in parts
)

// batch is forms as they were added.
type batch struct{ plain, dense []string }

// view is what a Set had at some time, which its clones share.
type view struct {
	mu    sync.Mutex
	base  runs
	fresh batch // what is not in the base
	made  bool  // the base is all there is
}

// Add adds a secret in all its forms. Each line of a secret of several lines counts as one too,
// since programs print lines separately.
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

// base returns the indexes that what is added comes to, and forgets what is in them.
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

// note adds a form to those that are looked for in a way, unless it is among them or too short.
func (s *Set) note(f string, least int, how kinds, to *[]string) {
	if len(f) >= least && s.known[f]&how == 0 {
		s.known[f] |= how
		*to = append(*to, f)
	}
}

// Clone returns a set of its own.
func (s *Set) Clone() Set {
	return Set{
		known: maps.Clone(s.known), view: s.view,
		fresh: batch{slices.Clip(s.fresh.plain), slices.Clip(s.fresh.dense)},
	}
}

// ready returns the indexes of all that was added.
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
