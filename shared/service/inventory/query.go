package inventory

import (
	"cmp"
	"slices"
	"strings"
)

// Query selects and sorts instances. A store answers it from an index, without reading the records
// of other instances.
type Query struct {
	Service string   // "": all services
	States  []string // empty: all states
	// Deleted includes deleted instances, and OnlyDeleted selects them alone.
	Deleted, OnlyDeleted bool
	Identity             string // the full identity; "": any
	Name                 string // a part of the id or of the identity
	// Attributes are values of attributes as text. An instance matches with its candidate or its
	// active set.
	Attributes map[string]string
	// Empty are sets of attributes that an instance must not have, and NotEmpty those that it must
	// have.
	Empty, NotEmpty Sets

	Sort        Sort
	NewestFirst bool // the order of Sort is reversed
	// After is the last record of the previous page; only ID, Created and the field of Sort count.
	After *Record
	Limit int // at most MaxPage; 0 means MaxPage
}

// Count holds the numbers of entries of a list.
type Count struct {
	Total int
	Ahead int // the entries up to and including After, in the order of the query
}

// Standing is a state of instances of a version of a service.
type Standing struct {
	Version int // of the service
	State   string
}

// Sort is the order of a list. Instances with equal fields are in the order of creation.
type Sort string

// The orders of lists: by the time of the order, by the time of the last change, by state, by
// identity and by id.
const (
	ByCreation Sort = ""
	ByUpdate   Sort = "updated"
	ByState    Sort = "state"
	ByIdentity Sort = "identity"
	ByID       Sort = "id"
)

// Sets is a choice of sets of attributes.
type Sets int

// The sets of attributes.
const (
	CandidateSet Sets = 1 << iota
	ActiveSet
	RollbackSet
)

// SetsOf returns the sets of attributes that an instance has.
func SetsOf(r *Record) Sets {
	var out Sets
	for i, set := range []map[string]any{r.Candidate, r.Active, r.Rollback} {
		if set != nil {
			out |= 1 << i
		}
	}
	return out
}

// Position is the position of an instance in lists, and all that filters need except attributes.
type Position struct {
	ID, Service, State, Identity string
	Created, Updated             int64 // microseconds since 1970
	Deleted                      bool
	Sets                         Sets
}

// PositionOf returns the position of an instance.
func PositionOf(r *Record) Position {
	return Position{
		ID: r.ID, Service: r.Service, State: r.State, Identity: r.Identity, Deleted: r.Deleted,
		Created: r.Created.UnixMicro(), Updated: r.Updated.UnixMicro(), Sets: SetsOf(r),
	}
}

// Compare compares the positions of two instances in the order of a query.
func (q *Query) Compare(a, b *Position) int {
	if q.NewestFirst {
		a, b = b, a
	}
	by := 0
	switch q.Sort {
	case ByUpdate:
		by = cmp.Compare(a.Updated, b.Updated)
	case ByState:
		by = cmp.Compare(a.State, b.State)
	case ByIdentity:
		by = cmp.Compare(a.Identity, b.Identity)
	case ByID:
		by = cmp.Compare(a.ID, b.ID)
	}
	return cmp.Or(by, cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
}

// Selects reports whether an instance matches the filter, apart from its attributes.
func (q *Query) Selects(p *Position) bool {
	return (q.Service == "" || p.Service == q.Service) &&
		(len(q.States) == 0 || slices.Contains(q.States, p.State)) &&
		(p.Deleted && (q.Deleted || q.OnlyDeleted) || !p.Deleted && !q.OnlyDeleted) &&
		(q.Identity == "" || q.Identity == p.Identity) &&
		(strings.Contains(p.ID, q.Name) || strings.Contains(p.Identity, q.Name)) &&
		p.Sets&q.Empty == 0 && p.Sets&q.NotEmpty == q.NotEmpty
}

// Matches reports whether an instance matches the filter.
func (q *Query) Matches(r *Record) bool {
	p := PositionOf(r)
	if !q.Selects(&p) {
		return false
	}
	for name, want := range q.Attributes {
		if !has(r.Candidate, name, want) && !has(r.Active, name, want) {
			return false
		}
	}
	return true
}

// has reports whether an attribute has a value, or is a list that contains it. Dicts and embedded
// entities have no value as text.
func has(set map[string]any, name, want string) bool {
	for _, v := range scalars(set[name]) {
		if Called(v, want) {
			return true
		}
	}
	return false
}

// scalars returns the values of an attribute that filters can name.
func scalars(v any) []any {
	list, is := v.([]any)
	if !is && v != nil {
		list = []any{v}
	}
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
}
