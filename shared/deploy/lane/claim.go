package lane

import (
	"container/heap"
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/parallel"
	"southbound/shared/resource"
)

func (w *worker) push(n int32) {
	r := w.rows[n]
	if r == nil {
		return
	}
	if w.skips(r) {
		return // see skipInWave
	}
	p, t := r.Priority, r.Ticket
	if r.Ticket == 0 {
		p = w.sched.Wave.Priority
	}
	heap.Push(&w.ready, readyNode{node: n, priority: p, ticket: t})
}

// pick returns the rows to claim next, in an order in which they can run: those that are ready, by priority, and then those of this
// lane that wait only for rows picked before them.
func (w *worker) pick() []*claim {
	now := w.Clock.Now()
	w.requeue(now)
	var batch []*claim
	waiting, picked := map[int32]int32{}, map[int32]bool{}
	for len(batch) < w.claimSize && (len(w.ready) > 0 || len(w.loose) > 0) {
		if len(w.loose) > 0 {
			batch = append(batch, &claim{row: w.loose[0], node: -1})
			w.loose = w.loose[1:]
			continue
		}
		n := heap.Pop(&w.ready).(readyNode).node
		r := w.rows[n]
		if r == nil || picked[n] || !w.frontier.ready(n) {
			continue
		}
		picked[n] = true
		if r.NotBefore.After(now) {
			w.later = append(w.later, n)
			continue
		}
		batch = append(batch, &claim{row: r, node: n})
	}
	for i := 0; i < len(batch) && len(batch) < w.claimSize; i++ {
		if batch[i].node >= 0 {
			batch = w.follow(batch, i, waiting, now)
		}
	}
	return batch
}

// follow appends the rows of this lane that wait only for what is in the batch up to and including batch[i].
func (w *worker) follow(batch []*claim, i int, waiting map[int32]int32, now time.Time) []*claim {
	for _, d := range w.graph.Dependants(batch[i].node) {
		r := w.rows[d]
		if r == nil || !w.frontier.needs[d] || w.skips(r) || r.NotBefore.After(now) {
			continue
		}
		if _, seen := waiting[d]; !seen {
			waiting[d] = w.frontier.waiting[d]
		}
		waiting[d]--
		if waiting[d] == 0 && len(batch) < w.claimSize {
			batch = append(batch, &claim{row: r, node: d, generation: batch[i].generation + 1})
		}
	}
	return batch
}

// requeue moves rows whose NotBefore has come back to the heap, and notes when the next one is due.
func (w *worker) requeue(now time.Time) {
	w.out.Next = time.Time{}
	later := w.later
	w.later = nil
	for _, n := range later {
		r := w.rows[n]
		switch {
		case r == nil || !w.frontier.ready(n):
		case r.NotBefore.After(now):
			w.later = append(w.later, n)
			if w.out.Next.IsZero() || r.NotBefore.Before(w.out.Next) {
				w.out.Next = r.NotBefore
			}
		default:
			w.push(n)
		}
	}
}

// moveWait is how long a row that is still being run in the lane it was moved from waits until it is looked at again.
const moveWait = time.Second

// withoutMoved drops from a batch the rows that were moved to this lane while a run of them is under way in another, to be looked at
// again after moveWait, and the rows that wait for these.
func (w *worker) withoutMoved(ctx context.Context, batch []*claim) ([]*claim, error) {
	if !slices.ContainsFunc(batch, func(c *claim) bool { return len(c.row.Left) > 0 }) {
		return batch, nil
	}
	leases, err := w.State.Leases(ctx, w.env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read leases", err)
	}
	now := w.Clock.Now()
	if written, err := w.writtenSince(ctx, batch, leases, now); err != nil {
		return nil, err
	} else if written {
		return nil, w.reload(ctx)
	}
	dropped := map[int32]bool{}
	return slices.DeleteFunc(batch, func(c *claim) bool {
		runs, ended := w.elsewhere(leases, c.row, now)
		if ended && c.row.SendsEvents() {
			c.row.Unsure = true // as takeOver does; the lane that it left may never be served again
		}
		switch {
		case runs:
			c.row.NotBefore = now.Add(moveWait)
			if c.node >= 0 {
				w.later = append(w.later, c.node)
			}
		case c.generation > 0 && slices.ContainsFunc(w.graph.Requires(c.node), func(q int32) bool { return dropped[q] }):
		default:
			return false
		}
		dropped[c.node] = true
		return true
	}), nil
}

// writtenSince reports whether a row of a batch that was moved to this lane and is not running elsewhere was written after this worker read it: the run
// elsewhere may have ended in between.
func (w *worker) writtenSince(ctx context.Context, batch []*claim, leases []state.Lease, now time.Time) (bool, error) {
	revs := map[resource.ID]int64{}
	for _, c := range batch {
		if runs, _ := w.elsewhere(leases, c.row, now); len(c.row.Left) > 0 && !runs {
			revs[c.row.ID] = c.row.Rev
		}
	}
	rows, err := w.Rows(ctx, w.env, slices.Sorted(maps.Keys(revs)))
	for id, rev := range revs {
		if r := rows[id]; r == nil || r.Rev != rev {
			return true, err
		}
	}
	return false, err
}

// elsewhere reports whether a row is being run in a lane that it was moved from, and whether such a run ended without a record.
func (w *worker) elsewhere(leases []state.Lease, r *state.Row, now time.Time) (runs, ended bool) {
	for i := range leases {
		l := &leases[i]
		if l.Key != w.lane && l.Holder != "" && slices.Contains(r.Left, l.Key) && slices.Contains(l.Running, r.ID) {
			runs, ended = runs || now.Before(l.Until), ended || !now.Before(l.Until)
		}
	}
	return runs, ended
}

// claim is one row that was picked.
type claim struct {
	row        *state.Row
	res        *resource.Resource // what the row wants, if it was decoded
	node       int32              // -1: not in the graph
	generation int                // 0: ready; n: waits for something of generation n-1 in the same batch
	at         time.Time          // when it was claimed
	waved      bool               // a wave asked for it
	result     *run.Result
	wrote      state.Row // the row as the result leaves it
}

// decode reads what the row wants. What cannot be read is told of when it is to run.
func (c *claim) decode() {
	if res, err := resource.Decode(c.row.Body); err == nil {
		c.res = res
	}
}

// begin claims a batch and prolongs the lease for as long as the batch may take. It returns false when the claim is refused, because
// the agent was paused or the schedule changed.
func (w *worker) begin(ctx context.Context, batch []*claim) (bool, error) {
	now := w.Clock.Now()
	ids := make([]resource.ID, len(batch))
	longest := time.Duration(0)
	_, waving := w.sched.Unfinished[w.lane]
	parallel.For(len(batch), func(i int) { batch[i].decode() })
	for i, c := range batch {
		ids[i] = c.row.ID
		c.at, c.waved = now, waving && w.inWave(c.row)
		longest = max(longest, w.Runs.CallLimit(c.row, c.res))
	}
	// What starts does so within commitAfter, so the lease outlasts the last group as well.
	longest += time.Duration(min(len(batch), run.MaxGroup)) * run.BatchItem
	if w.session.ForgetFailure(now); !w.session.Tried() {
		longest += w.Runs.ConnectLimit(w.agent.Agent)
	}
	done, err := w.commit(ctx, state.Commit{Next: ids, SeenPlan: w.sched.PlanSeq, Until: w.Clock.Now().Add(longest + commitAfter + state.LeaseMargin)})
	if done.Started {
		w.running = ids
	}
	return done.Started, err
}

// readyHeap orders nodes by priority, then by ticket.
type readyHeap []readyNode

type readyNode struct {
	node     int32
	priority state.Priority
	ticket   int64
}

func (h readyHeap) Len() int { return len(h) }

func (h readyHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h readyHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.priority != b.priority {
		return a.priority < b.priority
	}
	if a.ticket != b.ticket {
		return a.ticket < b.ticket
	}
	return a.node < b.node
}

// Push implements heap.Interface.
func (h *readyHeap) Push(x any) { *h = append(*h, x.(readyNode)) }

// Pop implements heap.Interface.
func (h *readyHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
