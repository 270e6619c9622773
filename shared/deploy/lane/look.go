package lane

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// look finds the part of a graph that a lane needs: the resources of its agent; what those that are
// scheduled in the lane require, through what is not scheduled and up to what is; and in the other
// direction, in the same way, what requires them. What stands behind something that is scheduled
// does not matter here: that waits for it itself.
type look struct {
	v      *view
	name   string  // of the own agent
	agent  int32   // its number; none, if all its resources have left
	starts []int32 // scheduled in this lane
	ends   []int32 // of this lane, and not to be waited for any more: others have to hear of it
	own    owned
	read   map[int32]bool // agents of which all was read just now
	asked  map[int32]bool // nodes of which it is known just now whether they are scheduled
	past   int            // how many agents of which nothing is known may be looked past

	seen     []byte // by node
	nodes    []int32
	expanded []int32        // nodes of which all that they require is among nodes
	unknown  map[int32]bool // agents of which nothing is known
	ask      []int32        // nodes that were scheduled, and may have finished since
}

const (
	seenAtAll byte = 1 << iota
	seenBefore
	seenBehind
	start
)

// run looks once. If something is not known, it says what, and wants to be run again.
func (l *look) run() {
	l.v.mu.Lock()
	defer l.v.mu.Unlock()
	g := l.v.graph
	l.seen, l.unknown = make([]byte, len(g.IDs)), map[int32]bool{}
	l.nodes, l.ask, l.expanded = l.nodes[:0], l.ask[:0], l.expanded[:0]
	for _, n := range g.Agents().NodesOf(l.name) {
		l.find(n, seenAtAll)
	}
	for _, n := range slices.Concat(l.starts, l.ends) {
		l.find(n, seenBehind)
	}
	for _, n := range l.starts {
		l.find(n, seenBefore|start)
	}
	var first, later []int32
	for _, n := range l.starts {
		if l.waitsHere(n) {
			later = append(later, n)
		} else {
			first = append(first, n)
		}
	}
	l.before(first, true)
	l.before(later, false)
	l.behind(slices.Concat(l.starts, l.ends))
}

// find notes a node, and reports whether it is new in that direction.
func (l *look) find(n int32, direction byte) bool {
	if l.seen[n]&seenAtAll == 0 {
		l.seen[n] |= seenAtAll
		l.nodes = append(l.nodes, n)
	}
	isNew := l.seen[n]&direction == 0
	l.seen[n] |= direction
	return isNew
}

// waitsHere reports whether a node requires something that is scheduled in this lane. What else it
// waits for then need not be known exactly yet.
func (l *look) waitsHere(n int32) bool {
	starts := func(q int32) bool { return l.seen[q]&start != 0 }
	return slices.ContainsFunc(l.v.graph.Requires(n), starts)
}

// before finds what the nodes on a stack wait for.
func (l *look) before(stack []int32, exactly bool) {
	g := l.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		l.expanded = append(l.expanded, n)
		for _, q := range g.Requires(n) {
			if !l.find(q, seenBefore) || l.v.clear[q] || l.stops(q, exactly) {
				continue
			}
			stack = append(stack, q)
		}
	}
}

// stops reports whether what stands behind a node, seen from this lane, need not be known. In a
// look at what this lane waits for, it has to be known exactly whether the node is scheduled.
func (l *look) stops(n int32, exactly bool) bool {
	v, a := l.v, l.v.graph.AgentOf(n)
	if a != l.agent && !v.read[a] {
		stop := len(l.unknown) >= l.past
		l.unknown[a] = true
		return stop
	}
	needs, unsure := v.needs[n], v.unsure[n]
	if a == l.agent {
		at := v.graph.Agents().At[n]
		needs, unsure = l.own.needs[at], l.own.unsure[at]
	}
	if exactly && needs && !l.asked[n] {
		if fresh := a == l.agent || l.read[a]; fresh && !unsure {
			l.asked[n] = true
		} else {
			l.ask = append(l.ask, n)
		}
	}
	return needs
}

// behind finds what waits for the nodes on a stack.
func (l *look) behind(stack []int32) {
	g := l.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range g.Dependants(n) {
			if l.find(d, seenBehind) && !l.stops(d, false) {
				stack = append(stack, d)
			}
		}
	}
}

// owned is what is scheduled of the agent of a lane, by node among those of the agent.
type owned struct {
	needs, unsure []bool
	tickets       []int64
}

// lookAround finds what this lane has to know of the graph, and reads what of that is not known
// yet. It returns false if the schedule has changed meanwhile.
func (w *worker) lookAround(ctx context.Context, own owned, starts, ends []int32) (bool, error) {
	name := state.AgentOf(w.lane)
	l := &look{v: w.view, name: name, agent: w.view.graph.Agents().Number[name],
		starts: starts, ends: ends, own: own,
		read: map[int32]bool{}, asked: map[int32]bool{}}
	for {
		l.run()
		if len(l.unknown) > 0 {
			if same, err := w.learn(ctx, l); !same || err != nil {
				return false, err
			}
			l.past = max(8*l.past, 8) // else agents with nothing to do would be read one by one
			continue
		}
		if len(l.ask) == 0 {
			break
		}
		if err := w.askFinished(ctx, l); err != nil {
			return false, err
		}
	}
	w.narrow(l)
	w.asked = l.asked
	return true, nil
}

// learn reads what is scheduled for agents of which nothing is known.
func (w *worker) learn(ctx context.Context, l *look) (bool, error) {
	names := make([]string, 0, len(l.unknown))
	for a := range l.unknown {
		l.read[a] = true
		names = append(names, w.view.graph.Agents().Names[a])
	}
	slices.Sort(names)
	s, err := w.State.Schedule(ctx, w.env, names...)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	return w.view.learn(s, names, w.state.Releasing != 0), nil
}

// askFinished looks up which nodes have finished.
func (w *worker) askFinished(ctx context.Context, l *look) error {
	g := w.view.graph
	for part := range slices.Chunk(l.ask, w.Asked) {
		ids := make([]resource.ID, len(part))
		for i, n := range part {
			l.asked[n], ids[i] = true, g.IDs[n]
		}
		done, err := w.State.Finished(ctx, w.env, ids, w.sched.Wave.Epoch)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read schedule", err)
		}
		for _, n := range g.Nodes(done) {
			if g.AgentOf(n) == l.agent {
				l.own.needs[g.Agents().At[n]] = false
			}
		}
		w.view.finished(g.Nodes(done))
	}
	return nil
}

// narrow makes the graph of what was found, and the frontier in it.
func (w *worker) narrow(l *look) {
	v := w.view
	slices.Sort(l.nodes)
	w.graph, w.full = v.graph, l.nodes
	if len(l.nodes) < len(v.graph.IDs) {
		w.graph = v.graph.Part(l.nodes)
	}
	scheduled := make([]bool, len(l.nodes))
	w.tickets, w.unsure = make([]int64, len(l.nodes)), map[int32]bool{}
	v.mu.Lock()
	for i, n := range l.nodes {
		needs, unsure, ticket := v.needs[n] && !v.clear[n], v.unsure[n], v.tickets[n]
		if a := v.graph.AgentOf(n); a == l.agent {
			at := v.graph.Agents().At[n]
			needs, unsure, ticket = l.own.needs[at], l.own.unsure[at], l.own.tickets[at]
		}
		scheduled[i], w.tickets[i] = needs, ticket
		if needs && unsure {
			w.unsure[int32(i)] = true //nolint:gosec // see Node
		}
	}
	v.mu.Unlock()
	w.frontier = newFrontier(w.graph, scheduled)
	v.agree(w.frontier, l.nodes, l.expanded)
}
