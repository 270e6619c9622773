package worker

import (
	"container/heap"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// queue holds the scheduled rows of an agent, and the order in which they may run.
type queue struct {
	schedule
	part
	ready readyHeap
	later []int32   // ready, but with a NotBefore that has not come yet
	next  time.Time // when the first of these is due; zero: none is
	// isOpen reports whether a row was claimed, and its result is not recorded yet.
	isOpen func(id resource.ID) bool
}

// push adds a row to the rows that may start.
func (q *queue) push(n int32) {
	r := q.rows.of(n)
	if r == nil {
		return
	}
	if q.skips(r) || q.stored.Held(r) || q.isOpen(r.ID) {
		return // see skipInWave, unheld and release
	}
	p, t := r.Priority, r.Ticket()
	if r.Ticket() == 0 {
		p = q.sched.Wave.Priority
	}
	q.ready.push(readyNode{node: n, priority: p, ticket: t})
}

// pick returns at most size rows to claim next, in an order in which they can run: those that are
// ready, by priority, at most share of them, and then those of this agent that wait only for rows
// picked before them.
func (q *queue) pick(now time.Time, size, share int) []*claim {
	q.requeue(now)
	share = min(share, size)
	batch := make([]*claim, 0, min(share, len(q.ready)))
	waiting, picked := map[int32][]*claim{}, make([]bool, len(q.rows))
	for len(batch) < share && len(q.ready) > 0 {
		n := q.ready.pop().node
		r := q.rows.of(n)
		if r == nil || picked[n] || !q.frontier.ready(n) || q.isOpen(r.ID) {
			continue
		}
		picked[n] = true
		if r.Current().NotBefore.After(now) || slices.ContainsFunc(r.EarlierIDs(), q.isOpen) {
			q.later = append(q.later, n)
			continue
		}
		batch = append(batch, &claim{row: r, node: n})
	}
	for i := 0; i < len(batch) && len(batch) < size; i++ {
		if batch[i].node >= 0 {
			batch = q.follow(batch, i, waiting, now, size)
		}
	}
	return batch
}

// follow appends the rows of this agent that wait only for rows of the batch up to and including
// batch[i].
func (q *queue) follow(batch []*claim, i int, waiting map[int32][]*claim, now time.Time,
	size int) []*claim {
	for _, d := range q.graph.Dependants(batch[i].node) {
		r := q.rows.of(d)
		if r == nil || !q.frontier.needs[d] || q.skips(r) || q.stored.Held(r) ||
			r.Current().NotBefore.After(now) || q.isOpen(r.ID) || len(r.EarlierIDs()) > 0 {
			continue
		}
		waiting[d] = append(waiting[d], batch[i])
		if len(waiting[d]) == int(q.frontier.waiting[d]) && len(batch) < size {
			batch = append(batch, &claim{row: r, node: d, depth: batch[i].depth + 1,
				waits: waiting[d]})
		}
	}
	return batch
}

// requeue returns rows to the heap whose NotBefore has passed, and records when the next row is
// due.
func (q *queue) requeue(now time.Time) {
	q.next = time.Time{}
	later := q.later
	q.later = nil
	for _, n := range later {
		r := q.rows.of(n)
		switch {
		case r == nil || !q.frontier.ready(n):
		case q.isOpen(r.ID):
			q.later = append(q.later, n) // until its result is recorded
		case r.Current().NotBefore.After(now):
			q.later = append(q.later, n)
			if q.next.IsZero() || r.Current().NotBefore.Before(q.next) {
				q.next = r.Current().NotBefore
			}
		default:
			q.push(n)
		}
	}
}

// scheduledOf returns the scheduled resources of a type at this agent.
func (q *queue) scheduledOf(typ string) []resource.ID {
	var out []resource.ID
	for n, r := range q.rows.all {
		if q.frontier.needs[n] && !q.skips(r) && r.ID.Type() == typ {
			out = append(out, r.ID)
		}
	}
	return out
}

// newestTicket returns the greatest ticket of this agent.
func (q *queue) newestTicket() int64 {
	newest := int64(0)
	for _, r := range q.rows.all {
		newest = max(newest, r.Ticket())
	}
	return newest
}

// waits reports whether rows of this agent are scheduled.
func (q *queue) waits() bool {
	for n := range q.rows.all {
		if q.frontier.needs[n] {
			return true
		}
	}
	return false
}

// holds reports whether rows of this agent are held back until a release is complete.
func (q *queue) holds() bool {
	if q.stored.Releasing == 0 {
		return false
	}
	for n, r := range q.rows.all {
		if q.frontier.needs[n] && q.stored.Held(r) {
			return true
		}
	}
	return false
}

// waveLeft reports whether the wave has rows of this agent left to check or to leave out.
func (q *queue) waveLeft() bool {
	for n, r := range q.rows.all {
		checks := q.frontier.needs[n] && r.Checked < q.sched.Wave.Epoch && !q.checkedHere()[r.ID]
		if checks || q.skips(r) {
			return true
		}
	}
	return false
}

// readyHeap is a heap of nodes by priority, then by ticket, for package heap.
type readyHeap []readyNode

type readyNode struct {
	node     int32
	priority state.Priority
	ticket   int64
}

// before reports whether a has to run before b.
func (a readyNode) before(b readyNode) bool {
	if a.priority != b.priority {
		return a.priority < b.priority
	}
	if a.ticket != b.ticket {
		return a.ticket < b.ticket
	}
	return a.node < b.node
}

// Len implements heap.Interface.
func (h readyHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h readyHeap) Less(i, j int) bool { return h[i].before(h[j]) }

// Swap implements heap.Interface.
func (h readyHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *readyHeap) Push(x any) { *h = append(*h, x.(readyNode)) }

// Pop implements heap.Interface.
func (h *readyHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// push adds a node.
func (h *readyHeap) push(x readyNode) { heap.Push(h, x) }

// pop removes and returns the node that has to run first; the heap must not be empty.
func (h *readyHeap) pop() readyNode { return heap.Pop(h).(readyNode) }
