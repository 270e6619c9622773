package lane

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// finder finds the part of a graph that a lane needs: what is scheduled in it; what that requires,
// through what is not scheduled and up to what is; and in the other direction, in the same way,
// what requires it. What stands behind something that is scheduled does not matter here: that waits
// for it itself. Where a wave may ask for any of them, it is all the resources of the agent, too.
type finder struct {
	*Config
	env       string
	epoch     int64 // of the wave
	releasing bool  // rows may not be where the graph says

	v      *view
	name   string          // of the own agent
	all    bool            // all its resources matter
	agent  int32           // its number; none, if all its resources have left
	starts []int32         // scheduled in this lane
	ends   []int32         // of this lane, and not to be waited for any more: others have to hear of it
	own    map[int32]owned // what is scheduled of the agent of the lane
	read   map[int32]bool  // agents of which all was read just now
	asked  map[int32]bool  // nodes of which it is known just now whether they are scheduled
	past   int             // how many agents of which nothing is known may be looked past

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

// run searches once. If something is not known, it says what, and wants to be run again.
func (f *finder) run() {
	f.v.mu.Lock()
	defer f.v.mu.Unlock()
	g := f.v.graph
	f.seen, f.unknown = make([]byte, len(g.IDs)), map[int32]bool{}
	f.nodes, f.ask, f.expanded = f.nodes[:0], f.ask[:0], f.expanded[:0]
	if f.all {
		for _, n := range g.NodesOf(f.name) {
			f.find(n, seenAtAll)
		}
	}
	for _, n := range slices.Concat(f.starts, f.ends) {
		f.find(n, seenBehind)
	}
	for _, n := range f.starts {
		f.find(n, seenBefore|start)
	}
	var first, later []int32
	for _, n := range f.starts {
		if f.waitsHere(n) {
			later = append(later, n)
		} else {
			first = append(first, n)
		}
	}
	f.before(first, true)
	f.before(later, false)
	f.behind(slices.Concat(f.starts, f.ends))
}

// find notes a node, and reports whether it is new in that direction.
func (f *finder) find(n int32, direction byte) bool {
	if f.seen[n]&seenAtAll == 0 {
		f.seen[n] |= seenAtAll
		f.nodes = append(f.nodes, n)
	}
	isNew := f.seen[n]&direction == 0
	f.seen[n] |= direction
	return isNew
}

// waitsHere reports whether a node requires something that is scheduled in this lane. What else it
// waits for then need not be known exactly yet.
func (f *finder) waitsHere(n int32) bool {
	starts := func(q int32) bool { return f.seen[q]&start != 0 }
	return slices.ContainsFunc(f.v.graph.Requires(n), starts)
}

// before finds what the nodes on a stack wait for.
func (f *finder) before(stack []int32, exactly bool) {
	g := f.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		f.expanded = append(f.expanded, n)
		for _, q := range g.Requires(n) {
			if !f.find(q, seenBefore) || f.v.clear[q] || f.stops(q, exactly) {
				continue
			}
			stack = append(stack, q)
		}
	}
}

// stops reports whether what stands behind a node, seen from this lane, need not be known. In a
// search for what this lane waits for, it has to be known exactly whether the node is scheduled.
func (f *finder) stops(n int32, exactly bool) bool {
	v, a := f.v, f.v.graph.AgentOf(n)
	if a != f.agent && !v.read[a] {
		stop := len(f.unknown) >= f.past
		f.unknown[a] = true
		return stop
	}
	needs, assumed := v.needs[n], v.assumed[n]
	if a == f.agent {
		needs, assumed = f.own[n].needs, f.own[n].assumed
	}
	if exactly && needs && !f.asked[n] {
		if fresh := a == f.agent || f.read[a]; fresh && !assumed {
			f.asked[n] = true
		} else {
			f.ask = append(f.ask, n)
		}
	}
	return needs
}

// behind finds what waits for the nodes on a stack.
func (f *finder) behind(stack []int32) {
	g := f.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range g.Dependants(n) {
			if f.find(d, seenBehind) && !f.stops(d, false) {
				stack = append(stack, d)
			}
		}
	}
}

// owned says of a resource of the agent of a lane how it is scheduled.
type owned struct {
	needs, assumed bool
	ticket         int64
}

// findPart finds what this lane has to know of the graph, and reads what of that is not known
// yet. It returns false if the schedule has changed meanwhile.
func (w *worker) findPart(
	ctx context.Context, own map[int32]owned, starts, ends []int32,
) (bool, error) {
	name := state.AgentOf(w.lane)
	f := &finder{Config: &w.Config, env: w.env, epoch: w.sched.Wave.Epoch,
		releasing: w.stored.Releasing != 0, v: w.view, name: name, agent: w.view.graph.Agents().Number[name],
		all:    len(w.sched.Unfinished) > 0 || w.stored.Releasing != 0,
		starts: starts, ends: ends, own: own,
		read: map[int32]bool{}, asked: map[int32]bool{}}
	for {
		f.run()
		if len(f.unknown) > 0 {
			if same, err := f.learn(ctx); !same || err != nil {
				return false, err
			}
			f.past = max(8*f.past, 8) // else agents with nothing to do would be read one by one
			continue
		}
		if len(f.ask) == 0 {
			break
		}
		if err := f.askFinished(ctx); err != nil {
			return false, err
		}
	}
	w.narrow(f)
	w.asked = f.asked
	return true, nil
}

// learn reads what is scheduled for agents of which nothing is known.
func (f *finder) learn(ctx context.Context) (bool, error) {
	names := make([]string, 0, len(f.unknown))
	for a := range f.unknown {
		f.read[a] = true
		names = append(names, f.v.graph.Agents().Names[a])
	}
	slices.Sort(names)
	s, err := f.State.Schedule(ctx, f.env, names...)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	return f.v.learn(s, names, f.releasing), nil
}

// askFinished looks up which nodes have finished.
func (f *finder) askFinished(ctx context.Context) error {
	g := f.v.graph
	for part := range slices.Chunk(f.ask, f.Asked) {
		ids := make([]resource.ID, len(part))
		for i, n := range part {
			f.asked[n], ids[i] = true, g.IDs[n]
		}
		done, err := f.State.Finished(ctx, f.env, ids, f.epoch)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read schedule", err)
		}
		for _, n := range g.Nodes(done) {
			if own, is := f.own[n]; is {
				own.needs = false
				f.own[n] = own
			}
		}
		f.v.finished(g.Nodes(done))
	}
	return nil
}

// narrow makes the graph of what was found, and the frontier in it.
func (p *part) narrow(f *finder) {
	v := p.view
	slices.Sort(f.nodes)
	p.graph, p.full = v.graph, f.nodes
	if len(f.nodes) < len(v.graph.IDs) {
		p.graph = v.graph.Part(f.nodes)
	}
	scheduled := make([]bool, len(f.nodes))
	p.tickets, p.assumed = make([]int64, len(f.nodes)), map[int32]bool{}
	v.mu.Lock()
	for i, n := range f.nodes {
		needs, assumed, ticket := v.needs[n] && !v.clear[n], v.assumed[n], v.tickets[n]
		if a := v.graph.AgentOf(n); a == f.agent {
			own := f.own[n]
			needs, assumed, ticket = own.needs, own.assumed, own.ticket
		}
		scheduled[i], p.tickets[i] = needs, ticket
		if needs && assumed {
			p.assumed[int32(i)] = true // see Node
		}
	}
	v.mu.Unlock()
	p.frontier = newFrontier(p.graph, scheduled)
	v.agree(p.frontier, f.nodes, f.expanded)
}
