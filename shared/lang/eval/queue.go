package eval

import "southbound/shared/lang/types"

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

// candidates are the variables that may be complete, in the order in which they are to be frozen:
// relations, those with an order of
// their own in that, and what is not a relation.
type candidates struct {
	free    ring[*variable]
	ordered map[*types.Attribute]*ring[*variable]
	order   []*types.Attribute // as a policy has it
	next    int                // in order
	others  ring[*variable]
	n       int
}

func newCandidates(order []*types.Attribute) candidates {
	c := candidates{order: order, ordered: map[*types.Attribute]*ring[*variable]{}}
	for _, a := range order {
		c.ordered[a] = &ring[*variable]{}
	}
	return c
}

func (c *candidates) push(v *variable) {
	c.n++
	switch r := c.ordered[v.attr]; {
	case v.attr == nil:
		c.others.push(v)
	case r != nil:
		r.push(v)
		c.next = min(c.next, c.at(v.attr))
	default:
		c.free.push(v)
	}
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
	if c.free.len() > 0 {
		return c.free.pop()
	}
	for ; c.next < len(c.order); c.next++ {
		if r := c.ordered[c.order[c.next]]; r.len() > 0 {
			return r.pop()
		}
	}
	return c.others.pop()
}

// idle are the variables whose freezing helps nobody, in the order in which they were found. Those
// that get waiters are told apart by
// engine.stirred, so that not all have to be looked at again and again.
type idle struct {
	vars []*variable // nil for those that left
	n    int
}

func (i *idle) push(v *variable) {
	v.order, v.idle = int32(len(i.vars)), true //nolint:gosec // instances are bounded
	i.vars = append(i.vars, v)
	i.n++
}

func (i *idle) remove(v *variable) {
	i.vars[v.order] = nil
	v.idle = false
	i.n--
	for len(i.vars) > 0 && i.vars[len(i.vars)-1] == nil {
		i.vars = i.vars[:len(i.vars)-1]
	}
}

// pop removes the last one; nil if there is none.
func (i *idle) pop() *variable {
	if i.n == 0 {
		return nil
	}
	for {
		v := i.vars[len(i.vars)-1]
		if v == nil {
			i.vars = i.vars[:len(i.vars)-1]
			continue
		}
		i.remove(v)
		return v
	}
}
