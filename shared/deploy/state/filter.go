package state

import (
	"slices"
	"strings"
	"unicode/utf8"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Filter selects resources; its zero value selects all.
type Filter struct {
	Type, Set string
	Agents    []string // any of these; none: all
	Status    Status
	ID        string // an id, or a glob of one: * any text, ? one character
	hasSet    bool
	terms     []string
}

// Terms returns the terms that the filter was parsed from.
func (f Filter) Terms() []string { return f.terms }

// ParseFilter parses terms: type=, status= and set=, each at most once, agent=, of which any may
// match, and at most one id or glob. A resource has to match all of them.
func ParseFilter(terms []string) (Filter, error) {
	f := Filter{terms: terms}
	said := map[string]bool{}
	for _, term := range terms {
		if term == "" { // a variable of a script that is not set, and never meant as everything
			return f, fault.New(fault.Usage, "read filter", "an empty term").
				WithHint("leave it out to select everything")
		}
		key, value, ok := strings.Cut(term, "=")
		if !ok || strings.ContainsAny(key, "[:*?") {
			if f.ID != "" {
				return f, fault.New(fault.Usage, "read filter", "two ids: %q and %q", f.ID, term).
					WithHint("use a glob such as 'fs::File[web1,*'")
			}
			f.ID = term
			continue
		}
		if said[key] && key != "agent" {
			return f, fault.New(fault.Usage, "read filter",
				"%s= is there twice, and all terms must match", key).
				WithHint("ask once for each")
		}
		said[key] = true
		switch key {
		case "type":
			f.Type = value
		case "agent":
			f.Agents = append(f.Agents, value)
		case "set":
			f.Set, f.hasSet = value, true
		case "status":
			f.Status = Status(value)
			if !knownStatus(f.Status) {
				return f, fault.New(fault.Usage, "read filter", "unknown status %q", value).
					WithHint("the statuses: deployed failed skipped blocked undefined available " +
						"deploying orphaned non_compliant unavailable")
			}
		default:
			return f, fault.New(fault.Usage, "read filter", "unknown key %q in %q", key, term).
				WithHint("use type=, agent=, status=, set=, an id or a glob of one")
		}
	}
	return f, nil
}

func knownStatus(s Status) bool {
	switch s {
	case StatusDeployed,
		StatusFailed,
		StatusSkipped,
		StatusBlocked,
		StatusUndefined,
		StatusAvailable,
		StatusDeploying,
		StatusOrphaned,
		StatusNonCompliant,
		StatusUnavailable:
		return true
	}
	return false
}

// Empty reports whether f selects everything.
func (f Filter) Empty() bool {
	return f.Type == "" && f.Set == "" && len(f.Agents) == 0 && f.Status == "" && f.ID == "" &&
		!f.hasSet
}

// Match reports whether a row is selected. A row does not record whether it is being deployed, so
// the status deploying matches every row, and the caller has to compare it.
func (f Filter) Match(r *Row) bool {
	if f.Status != "" && f.Status != StatusDeploying && r.Status() != f.Status {
		return false
	}
	set := ""
	if f.hasSet {
		set = r.resourceSet()
	}
	return f.Picks(r.ID, set)
}

// Picks reports whether a resource of a set is selected, regardless of its status.
func (f Filter) Picks(id resource.ID, set string) bool {
	switch {
	case f.Type != "" && id.Type() != f.Type:
	case len(f.Agents) > 0 && !slices.Contains(f.Agents, id.Agent()):
	case f.ID != "" && string(id) != f.ID && !glob(f.ID, string(id)):
	case f.hasSet && set != f.Set:
	default:
		return true
	}
	return false
}

// glob reports whether s matches a pattern with * and ?. It takes time proportional to the product
// of their lengths at worst.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			i += runeAt(s, i)
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			mark += runeAt(s, mark)
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// runeAt returns how many bytes the character at i has.
func runeAt(s string, i int) int {
	_, n := utf8.DecodeRuneInString(s[i:])
	return n
}
