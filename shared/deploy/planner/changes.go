package planner

import (
	"cmp"
	"math"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// changes are the planned changes of rows.
type changes struct {
	rows  map[resource.ID]*state.Row // to be written
	order []resource.ID              // ids of rows, requirements first
	// reapply makes the planned change again, on a row that another writer has changed since it was
	// read.
	reapply map[resource.ID]func(*state.Row) bool
	whole   map[resource.ID]bool      // rows that reapply creates again if they are gone
	before  map[resource.ID]state.Row // the planned rows as they are stored
	moves   moves                     // of things from one row to another
}

// newChanges returns an empty set of changes.
func newChanges() changes {
	return changes{
		rows:    map[resource.ID]*state.Row{},
		reapply: map[resource.ID]func(*state.Row) bool{},
		whole:   map[resource.ID]bool{},
		before:  map[resource.ID]state.Row{},
	}
}

// set changes a row by f, which reports whether the row has to be written. It keeps f even if the
// row does not have to be written. If another writer changes the row before the commit, f is
// applied again, and then the row may have to be written.
func (p *changes) set(row *state.Row, f func(*state.Row) bool) {
	was := *row
	changed := f(row)
	if before := p.reapply[row.ID]; before != nil {
		p.reapply[row.ID] = func(r *state.Row) bool {
			a := before(r)
			return f(r) || a
		}
	} else {
		p.reapply[row.ID] = f
	}
	if _, planned := p.rows[row.ID]; !changed || planned {
		return
	}
	p.rows[row.ID] = row
	p.order = append(p.order, row.ID)
	if was.Rev > 0 { // a new row is written in any case, and there may be very many
		p.before[row.ID] = was
	}
}

// planned returns a row as it is planned, or as it is stored.
func (p *changes) planned(r *state.Row) *state.Row {
	if planned := p.rows[r.ID]; planned != nil {
		return planned
	}
	return r
}

// orderBy sorts the planned rows so that requirements come first and every prefix makes sense: see
// Commit.Rows.
func (p *changes) orderBy(g *version.Graph) {
	if len(p.order) < 2 {
		return
	}
	g = g.Behind(g.Nodes(p.order))
	rank := make([]int32, len(g.IDs))
	for i, n := range g.Order() {
		rank[n] = int32(i)
	}
	at := func(id resource.ID) int32 {
		if p.moves.to[id] != "" {
			return math.MaxInt32 // after the rows that have taken over its state
		}
		if n := g.Node(id); n >= 0 {
			return rank[n]
		}
		return -1
	}
	keys := make(map[resource.ID]int32, len(p.order))
	for _, id := range p.order {
		keys[id] = at(id)
	}
	slices.SortStableFunc(p.order, func(a, b resource.ID) int { return cmp.Compare(keys[a], keys[b]) })
}

// inOrder sorts a part of the planned rows in the order of all. Rows of moves are added out of
// order.
func (p *changes) inOrder(rows []state.Row) {
	if len(p.moves.from) == 0 {
		return
	}
	rank := make(map[resource.ID]int, len(p.order))
	for i, id := range p.order {
		rank[id] = i
	}
	slices.SortStableFunc(rows, func(a, b state.Row) int { return rank[a.ID] - rank[b.ID] })
}
