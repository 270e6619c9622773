package state

import (
	"maps"
	"slices"
	"strings"
)

// ActionSet collects the records of actions, by id, from places that may hold one twice.
type ActionSet map[string]Action

// Take adds a record. Of two records of one action it keeps the one that is marked as stale, which
// was written later.
func (s ActionSet) Take(a *Action) {
	if have, ok := s[a.ID]; !ok || !have.Stale {
		s[a.ID] = *a
	}
}

// Complete reports whether the newest records, up to limit, are among those that were taken, if
// what was not read yet is no newer than last; limit 0: all are wanted. It lets go of older ones.
func (s ActionSet) Complete(limit int, last string) bool {
	if limit <= 0 || len(s) < limit {
		return false
	}
	ids := slices.Sorted(maps.Keys(s))
	older := len(ids) - limit
	for _, id := range ids[:older] {
		delete(s, id)
	}
	return last < ids[older]
}

// Newest returns up to limit records, the newest first; limit 0: all.
func (s ActionSet) Newest(limit int) []Action {
	out := make([]Action, 0, len(s))
	for _, a := range s {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Action) int { return strings.Compare(b.ID, a.ID) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out
}
