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

// first returns what comes next, and last what was pushed last.
func (r *ring[T]) first() T { return r.items[r.from] }
func (r *ring[T]) last() T  { return r.items[len(r.items)-1] }

// candidates are the variables that may be complete, in the order in which they are to be frozen:
// relations, those that a policy orders in that order, and what is not a relation. Each relation
// without an order has a turn. An instance reserves turns for all its attributes, and an open
// relation of it takes its own when somebody asks for it: asked are those, of which most get a
// value at once, and early are those of them that would be in front of others.
type candidates struct {
	asked   []*variable
	free    ring[*variable]
	early   byTurn
	ordered map[*types.Attribute]*ring[*variable]
	order   []*types.Attribute // as a policy has it
	next    int                // in order
	others  ring[*variable]
	n       int
	turn    int64 // the last that was given
	passed  int64 // relations without an order were looked at up to this turn
	frozen  int64 // what nobody had asked for was frozen up to this turn
}

func newCandidates(order []*types.Attribute) candidates {
	c := candidates{order: order, ordered: map[*types.Attribute]*ring[*variable]{}}
	for _, a := range order {
		c.ordered[a] = &ring[*variable]{}
	}
	return c
}

// reserve returns the first of n turns.
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

// ask adds a relation without an order that has its turn and was just made.
func (c *candidates) ask(v *variable) {
	c.n++
	c.asked = append(c.asked, v)
}

// enqueue puts what was asked for where its turn is.
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

// insert puts a relation without an order, which has its turn, among the others.
func (c *candidates) insert(v *variable) {
	if c.free.len() > 0 && v.late.turn < c.free.last().late.turn {
		heap.Push(&c.early, v)
		return
	}
	c.free.push(v)
}

// at returns where to begin again: at the start, if an attribute was passed.
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
	v.late.turn = c.reserve(1) // behind all that were looked at before it
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

// passAll says that all relations without an order that there are were looked at.
func (c *candidates) passAll() { c.passed = c.turn }

// rank says which of two variables comes first: that of the lower rank.
func (c *candidates) rank(v *variable) int {
	if v.attr == nil {
		return len(c.order) + 1
	}
	return slices.Index(c.order, v.attr) + 1
}

// byTurn is a heap of variables.
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

// idle are the variables whose freezing helps nobody. They were set aside in the order of their
// turns. Those that get waiters are told apart by engine.stirred, so that not all have to be looked
// at again and again.
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

// drain removes all, and returns them, those that were set aside last first.
func (i *idle) drain() []*variable {
	all := *i
	*i = nil
	slices.SortFunc(all, func(a, b *variable) int { return cmp.Compare(b.late.turn, a.late.turn) })
	for _, v := range all {
		v.idle = false
	}
	return all
}
