package eval

import (
	"cmp"
	"container/heap"
	"slices"

	"southbound/shared/lang/types"
)

// ring is a queue.
type ring[T any] struct {
	items []T
	from  int
}

func (r *ring[T]) push(v T) { r.items = append(r.items, v) }
func (r *ring[T]) len() int { return len(r.items) - r.from }

func (r *ring[T]) pop() T {
	var zero T
	v := r.items[r.from]
	r.items[r.from] = zero
	if r.from++; r.from == len(r.items) {
		r.items, r.from = r.items[:0], 0
	} else if r.from > 1024 && r.from*2 > len(r.items) {
		n := copy(r.items, r.items[r.from:])
		clear(r.items[n:])
		r.items, r.from = r.items[:n], 0
	}
	return v
}

// first returns the next item, and last the item that was pushed last.
func (r *ring[T]) first() T { return r.items[r.from] }
func (r *ring[T]) last() T  { return r.items[len(r.items)-1] }

// candidates are the variables that may be complete, in the order of their freezes: relations
// without a policy by turn, then relations in the order of the policy, then other variables.
//
// An instance reserves turns for all its attributes. An open relation takes its turn on first
// access and is queued in asked. Most relations in asked get a value soon after, so they are
// inserted only when a round begins. The heap early holds relations whose turn is lower than the
// last one in free.
type candidates struct {
	asked   []*variable
	free    ring[*variable]
	early   byTurn
	ordered map[*types.Attribute]*ring[*variable]
	order   []*types.Attribute // the order of the policy
	next    int                // index in order
	others  ring[*variable]
	n       int
	turn    int64 // the last turn that was reserved
	passed  int64 // a round has examined relations without an order up to this turn
	frozen  int64 // relations without any access were frozen up to this turn
}

func newCandidates(order []*types.Attribute) candidates {
	c := candidates{order: order, ordered: map[*types.Attribute]*ring[*variable]{}}
	for _, a := range order {
		c.ordered[a] = &ring[*variable]{}
	}
	return c
}

// reserve reserves n turns, and returns the first.
func (c *candidates) reserve(n int) int64 {
	first := c.turn + 1
	c.turn += int64(n)
	return first
}

func (c *candidates) isOrdered(a *types.Attribute) bool {
	return len(c.order) > 0 && c.ordered[a] != nil
}

func (c *candidates) push(v *variable) {
	v.late.turn = c.reserve(1)
	c.n++
	switch {
	case v.attr == nil:
		c.others.push(v)
	case c.isOrdered(v.attr):
		c.ordered[v.attr].push(v)
		c.next = min(c.next, c.at(v.attr))
	default:
		c.insert(v)
	}
}

// ask adds a relation without an order, which has just been created with its turn.
func (c *candidates) ask(v *variable) {
	c.n++
	c.asked = append(c.asked, v)
}

// enqueue inserts the relations of asked by their turns.
func (c *candidates) enqueue() {
	for _, v := range c.asked {
		if v.ready {
			c.n--
		} else {
			c.insert(v)
		}
	}
	clear(c.asked)
	c.asked = c.asked[:0]
}

// insert inserts a relation without an order by its turn.
func (c *candidates) insert(v *variable) {
	if c.free.len() > 0 && v.late.turn < c.free.last().late.turn {
		heap.Push(&c.early, v)
		return
	}
	c.free.push(v)
}

// at returns the index in order at which the search has to resume: the start if the search has
// passed the attribute.
func (c *candidates) at(a *types.Attribute) int {
	for i := c.next; i < len(c.order); i++ {
		if c.order[i] == a {
			return c.next
		}
	}
	return 0
}

func (c *candidates) pop() *variable {
	c.n--
	free, early := c.free.len() > 0, len(c.early) > 0
	if free || early {
		var v *variable
		if early && (!free || c.early[0].late.turn < c.free.first().late.turn) {
			v = heap.Pop(&c.early).(*variable)
		} else {
			v = c.free.pop()
		}
		c.passed = v.late.turn
		return v
	}
	c.passAll()
	v := c.popOther()
	v.late.turn = c.reserve(1) // behind all variables that were examined before
	return v
}

func (c *candidates) popOther() *variable {
	for ; c.next < len(c.order); c.next++ {
		if r := c.ordered[c.order[c.next]]; r.len() > 0 {
			return r.pop()
		}
	}
	return c.others.pop()
}

// passAll records that all existing relations without an order were examined.
func (c *candidates) passAll() { c.passed = c.turn }

// rank returns 0 for a relation without a policy, and increases with the place in the policy.
// Variables that are no relations have the highest rank. The variable of the lowest rank is frozen
// first.
func (c *candidates) rank(v *variable) int {
	if v.attr == nil {
		return len(c.order) + 1
	}
	return slices.Index(c.order, v.attr) + 1
}

// byTurn is a heap of variables, by their turns.
type byTurn []*variable

func (b byTurn) Len() int           { return len(b) }
func (b byTurn) Less(i, j int) bool { return b[i].late.turn < b[j].late.turn }
func (b byTurn) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byTurn) Push(v any)        { *b = append(*b, v.(*variable)) }

func (b *byTurn) Pop() any {
	last := len(*b) - 1
	v := (*b)[last]
	*b = (*b)[:last]
	return v
}

// idle are the variables whose freeze would help no unit. Those that get waiters later are recorded
// in engine.stirred, so that a round need not scan all idle variables.
type idle []*variable

func (i *idle) push(v *variable) {
	v.idle, v.late.place = true, len(*i)
	*i = append(*i, v)
}

func (i *idle) remove(v *variable) {
	all := *i
	last := all[len(all)-1]
	all[v.late.place], last.late.place = last, v.late.place
	*i = all[:len(all)-1]
	v.idle = false
}

// drain removes and returns all variables, in descending order of turns.
func (i *idle) drain() []*variable {
	all := *i
	*i = nil
	slices.SortFunc(all, func(a, b *variable) int { return cmp.Compare(b.late.turn, a.late.turn) })
	for _, v := range all {
		v.idle = false
	}
	return all
}
