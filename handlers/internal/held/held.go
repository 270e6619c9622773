// Package held records which resources of an agent were found or made in their described state, by
// the place of the real thing. A change that would undo one of them is rejected, so that two
// contradictory resources do not undo each other at each apply. A table is for one version of the
// environment and lives in this process. That is enough, as a run of an agent reads its resources
// before it changes them.
package held

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// keep is how long an unused table is kept.
const keep = 24 * time.Hour

// Table holds the descriptions of resources by place. Handlers of one type share it, on all lanes
// of an agent.
type Table[T any] struct {
	mu    sync.Mutex
	first map[string]Claim[T]          // most places have only one
	more  map[string]map[resource.ID]T // without the first
}

// Claim is one resource at a place, with its description.
type Claim[T any] struct {
	ID        resource.ID
	Described T
}

// Of returns the table of an agent for the version in force, or that of a dry run, which has a
// table of its own. Without a host that caches values, the table is empty.
func Of[T any](ctx *provider.Context) *Table[T] { return table[T](ctx, false) }

// Across is Of for a table that the types of a package share, of which T is one of its own types.
func Across[T any](ctx *provider.Context) *Table[T] { return table[T](ctx, true) }

func table[T any](ctx *provider.Context, across bool) *Table[T] {
	key := provider.Key{Name: "held", Args: []any{ctx.Released()}, Across: across}
	var t *Table[T]
	var err error
	if ctx.DryRun() {
		t, err = provider.Listed(ctx, key, func(*provider.Context) (*Table[T], int, error) {
			return &Table[T]{}, 0, nil
		})
	} else {
		t, err = provider.Cached(ctx, key, provider.Keep{Idle: keep},
			func(*provider.Context) (*Table[T], error) { return &Table[T]{}, nil })
	}
	if err != nil {
		return &Table[T]{}
	}
	return t
}

// Hold records that the resource of a run has its described state. A resource that is only reported
// is not recorded.
func (t *Table[T]) Hold(ctx *provider.Context, id resource.ID, place string, described T) {
	if s := ctx.Stored(); s != nil && s.ReportOnly {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first, t.more = map[string]Claim[T]{}, map[string]map[resource.ID]T{}
	}
	switch have, is := t.first[place]; {
	case !is || have.ID == id:
		t.first[place] = Claim[T]{id, described}
	case t.more[place] == nil:
		t.more[place] = map[resource.ID]T{id: described}
	default:
		t.more[place][id] = described
	}
}

// Release removes the record of a resource that no longer has its described state.
func (t *Table[T]) Release(place string, id resource.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := t.more[place]
	switch {
	case t.first[place].ID != id:
		delete(more, id)
		return
	case len(more) == 0:
		delete(t.first, place)
		return
	}
	for id, described := range more { // any of them may be the first
		t.first[place] = Claim[T]{id, described}
		delete(more, id)
		return
	}
}

// At returns the resources that hold a place, by id.
func (t *Table[T]) At(place string) []Claim[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, is := t.first[place]
	if !is {
		return nil
	}
	out := []Claim[T]{first}
	for id, described := range t.more[place] {
		out = append(out, Claim[T]{id, described})
	}
	slices.SortFunc(out, func(a, b Claim[T]) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
