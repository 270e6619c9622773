package state

import (
	"slices"
	"strings"
	"unicode/utf8"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Filter selects resources; its zero value selects all. A list selects any of its values.
//
// Large: it has a field for each key of a term.
type Filter struct {
	Type       string
	Sets       []string // "" stands for resources of no set
	Agents     []string
	Statuses   []Status
	Compliance []Compliance
	LastRun    []LastRun
	Blocked    []Blocked
	// Deploying selects resources that run, or those that do not. As leases record which run, and
	// rows do not, Match ignores it, and the caller compares.
	Deploying *bool
	Reasons   []string // texts that the reason contains, all of them
	Words     []string // texts that the id contains, all of them
	ID        string   // an id, or a glob of one: * any text, ? one character
	terms     []string
}

// Terms returns the terms that the filter was parsed from.
func (f Filter) Terms() []string { return f.terms }

// OfNamed reports whether the filter selects only resources of named sets.
func (f Filter) OfNamed() bool { return len(f.Sets) > 0 && !slices.Contains(f.Sets, "") }

// filterHint lists the keys of terms.
const filterHint = "use type=, agent=, status=, set=, compliance=, last_run=, blocked=, deploying=, " +
	"reason~=, id~=, an id or a glob of one"

// ParseFilter parses terms. A resource has to match all keys. Of type= and deploying=, and of an id
// or a glob, there is at most one. Of set=, agent=, status=, compliance=, last_run= and blocked=, any
// value may match. Of reason~= and id~=, which are parts of a text in any case, all must match.
func ParseFilter(terms []string) (Filter, error) {
	f := Filter{terms: terms}
	once := map[string]bool{"type": false, "deploying": false} // and whether it was read
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
		read, alone := once[key]
		if read {
			return f, fault.New(fault.Usage, "read filter",
				"%s= is there twice, and all terms must match", key).
				WithHint("ask once for each")
		}
		if alone {
			once[key] = true
		}
		if err := f.add(key, value, term); err != nil {
			return f, err
		}
	}
	return f, nil
}

// add adds the value of a key.
func (f *Filter) add(key, value, term string) error {
	switch key {
	case "type":
		f.Type = value
	case "agent":
		f.Agents = append(f.Agents, value)
	case "set":
		f.Sets = append(f.Sets, value)
	case "status":
		return addKnown(&f.Statuses, key, value, statuses())
	case "compliance":
		return addKnown(&f.Compliance, key, value,
			[]Compliance{HasUpdate, Compliant, NonCompliant, Undefined})
	case "last_run":
		return addKnown(&f.LastRun, key, value, []LastRun{RunNew, RunSuccess, RunFailed, RunSkipped})
	case "blocked":
		return addKnown(&f.Blocked, key, value,
			[]Blocked{NotBlocked, BlockedYes, BlockedTemp, NeedsDecision})
	case "deploying":
		var one []string
		if err := addKnown(&one, key, value, []string{"true", "false"}); err != nil {
			return err
		}
		running := value == "true"
		f.Deploying = &running
	case "reason~":
		f.Reasons = append(f.Reasons, strings.ToLower(value))
	case "id~":
		f.Words = append(f.Words, strings.ToLower(value))
	default:
		return fault.New(fault.Usage, "read filter", "unknown key %q in %q", key, term).
			WithHint(filterHint)
	}
	return nil
}

// addKnown adds a value that has to be one of the known values.
func addKnown[T ~string](to *[]T, key, value string, known []T) error {
	if !slices.Contains(known, T(value)) {
		words := make([]string, len(known))
		for i, k := range known {
			words[i] = string(k)
		}
		about := "values of " + key + "="
		if key == "status" {
			about = "statuses"
		}
		return fault.New(fault.Usage, "read filter", "unknown %s %q", key, value).
			WithHint("the %s: %s", about, strings.Join(words, " "))
	}
	*to = append(*to, T(value))
	return nil
}

func statuses() []Status {
	return []Status{StatusDeployed, StatusFailed, StatusSkipped, StatusBlocked, StatusUndefined,
		StatusAvailable, StatusDeploying, StatusOrphaned, StatusNonCompliant, StatusUnavailable}
}

// WithoutState returns the terms that select resources by what they are, and not by their state,
// which work changes.
func WithoutState(terms []string) []string {
	return slices.DeleteFunc(slices.Clone(terms), func(term string) bool {
		key, _, _ := strings.Cut(term, "=")
		return slices.Contains([]string{"status", "compliance", "last_run", "blocked", "deploying",
			"reason~"}, key)
	})
}

// Empty reports whether f selects everything.
func (f Filter) Empty() bool {
	return f.Type == "" && len(f.Sets) == 0 && len(f.Agents) == 0 && f.ID == "" &&
		len(f.Words) == 0 && !f.OfState()
}

// OfState reports whether f has a term about the state of resources, besides terms about what they
// are.
func (f Filter) OfState() bool {
	return f.Deploying != nil || len(f.Statuses) > 0 || len(f.Compliance) > 0 || len(f.LastRun) > 0 ||
		len(f.Blocked) > 0 || len(f.Reasons) > 0
}

// Stored rejects a filter with deploying=, for work: whether a resource runs changes before the work
// begins.
func (f Filter) Stored() error {
	if f.Deploying == nil {
		return nil
	}
	return fault.New(fault.Usage, "read filter", "deploying= selects resources of a list, not work").
		WithHint("leave out deploying=")
}

// Match reports whether a row is selected. A row does not record whether it is being deployed, so
// the status deploying matches every row, and the caller has to compare it; see Live.
func (f Filter) Match(r *Row) bool {
	if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, StatusDeploying) &&
		!slices.Contains(f.Statuses, r.Status()) {
		return false
	}
	return f.matchVector(r) && f.Picks(r.ID, f.setOf(r))
}

// Live reports whether a row is selected, given whether it runs.
func (f Filter) Live(r *Row, running bool) bool {
	status := r.Status()
	if running {
		status = StatusDeploying
	}
	return f.Match(r) && (f.Deploying == nil || *f.Deploying == running) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, status))
}

func (f *Filter) setOf(r *Row) string {
	if len(f.Sets) > 0 {
		return r.ResourceSet()
	}
	return ""
}

// matchVector reports whether the vector and the reason of a row match.
func (f *Filter) matchVector(r *Row) bool {
	return oneOf(f.Compliance, r.Comparison()) && oneOf(f.LastRun, r.LastRun) &&
		oneOf(f.Blocked, r.Block()) && hasAll(f.Reasons, r.Why())
}

// oneOf reports whether a list has a value, or is empty.
func oneOf[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// hasAll reports whether a text contains all parts, which are in lower case.
func hasAll(parts []string, text string) bool {
	if len(parts) == 0 {
		return true
	}
	text = strings.ToLower(text)
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

// Picks reports whether a resource of a set is selected, regardless of its state.
func (f Filter) Picks(id resource.ID, set string) bool { return oneOf(f.Sets, set) && f.PicksID(id) }

// PicksID reports whether a resource is selected, regardless of its set and its state.
func (f Filter) PicksID(id resource.ID) bool {
	switch {
	case f.Type != "" && id.Type() != f.Type:
	case len(f.Agents) > 0 && !slices.Contains(f.Agents, id.Agent()):
	case f.ID != "" && string(id) != f.ID && !glob(f.ID, string(id)):
	case !hasAll(f.Words, string(id)):
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
