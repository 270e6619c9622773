package state

import (
	"maps"
	"slices"
	"strings"
)

// ActionSet collects the records of actions, by id, from several sources that may hold the same
// record.
type ActionSet map[string]Action

// Take adds a record. Of two records of one action it keeps the one that is marked as stale, which
// was written later.
func (s ActionSet) Take(a *Action) {
	if have, ok := s[a.ID]; !ok || !have.Stale {
		s[a.ID] = *a
	}
}

// Complete reports whether the set holds the newest records, up to limit, given that no unread
// record is newer than last. Without a limit (0), all records are needed. Complete removes older
// records.
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
