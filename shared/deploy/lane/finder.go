package lane

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// A lane needs of the graph: what is scheduled in it; what that requires, through what is not
// scheduled and up to what is; and in the other direction, in the same way, what requires it. What
// stands behind something that is scheduled does not matter here: that waits for it itself. Where a
// wave may ask for any of them, it is all the resources of the agent, too.
//
// A search goes through the graph once, with what is known. What it meets and does not know, the
// finder reads; then it searches again.

// finder reads what the searches of a lane do not know.
type finder struct {
	*Config
	env       string
	epoch     int64 // of the wave
	releasing bool  // rows may not be where the graph says
	search    search
}

// search goes through the graph from what a lane works on. Nothing of it is read meanwhile.
type search struct {
	from  scope
	v     *view
	fresh fresh
	past  int // how many agents of which nothing is known may be passed over

	seen []byte // by node
	found
}

// scope is where a search starts: in a lane, and with what is known of its agent.
type scope struct {
	name   string          // of the agent
	agent  int32           // its number; -1, if all its resources have left
	all    bool            // all its resources matter
	own    map[int32]owned // what is scheduled of it
	starts []int32         // scheduled in this lane
	ends   []int32         // of this lane, and over, of which others have to be told
}

// fresh is what was read since the lane was: a view may be older.
type fresh struct {
	agents map[int32]bool // all that is scheduled of them
	nodes  map[int32]bool // whether they are scheduled
}

// found is what one search has come to.
type found struct {
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
func (s *search) run() {
	s.v.mu.Lock()
	defer s.v.mu.Unlock()
	g := s.v.graph
	s.seen, s.unknown = make([]byte, len(g.IDs)), map[int32]bool{}
	s.nodes, s.ask, s.expanded = s.nodes[:0], s.ask[:0], s.expanded[:0]
	if s.from.all {
		for _, n := range g.NodesOf(s.from.name) {
			s.find(n, seenAtAll)
		}
	}
	starts := s.from.starts
	for _, n := range slices.Concat(starts, s.from.ends) {
		s.find(n, seenBehind)
	}
	for _, n := range starts {
		s.find(n, seenBefore|start)
	}
	var first, later []int32
	for _, n := range starts {
		if s.waitsHere(n) {
			later = append(later, n)
		} else {
			first = append(first, n)
		}
	}
	s.before(first, true)
	s.before(later, false)
	s.behind(slices.Concat(starts, s.from.ends))
}

// find notes a node, and reports whether it is new in that direction.
func (s *search) find(n int32, direction byte) bool {
	if s.seen[n]&seenAtAll == 0 {
		s.seen[n] |= seenAtAll
		s.nodes = append(s.nodes, n)
	}
	isNew := s.seen[n]&direction == 0
	s.seen[n] |= direction
	return isNew
}

// waitsHere reports whether a node requires something that is scheduled in this lane. What else it
// waits for then need not be known exactly yet.
func (s *search) waitsHere(n int32) bool {
	starts := func(q int32) bool { return s.seen[q]&start != 0 }
	return slices.ContainsFunc(s.v.graph.Requires(n), starts)
}

// before finds what the nodes on a stack wait for.
func (s *search) before(stack []int32, exactly bool) {
	g := s.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s.expanded = append(s.expanded, n)
		for _, q := range g.Requires(n) {
			if !s.find(q, seenBefore) || s.v.clear[q] || s.stops(q, exactly) {
				continue
			}
			stack = append(stack, q)
		}
	}
}

// stops reports whether what stands behind a node, seen from this lane, need not be known. In a
// search for what this lane waits for, it has to be known exactly whether the node is scheduled.
func (s *search) stops(n int32, exactly bool) bool {
	v, a := s.v, s.v.graph.AgentOf(n)
	if a != s.from.agent && !v.read[a] {
		stop := len(s.unknown) >= s.past
		s.unknown[a] = true
		return stop
	}
	needs, assumed := v.needs[n], v.assumed[n]
	if a == s.from.agent {
		own := s.from.own[n]
		needs, assumed = own.needs, own.assumed || own.waved
	}
	if exactly && needs && !s.fresh.nodes[n] {
		if isFresh := a == s.from.agent || s.fresh.agents[a]; isFresh && !assumed {
			s.fresh.nodes[n] = true
		} else {
			s.ask = append(s.ask, n)
		}
	}
	return needs
}

// behind finds what waits for the nodes on a stack.
func (s *search) behind(stack []int32) {
	g := s.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range g.Dependants(n) {
			if s.find(d, seenBehind) && !s.stops(d, false) {
				stack = append(stack, d)
			}
		}
	}
}

// owned says of a resource of the agent of a lane how it is scheduled.
type owned struct {
	needs, assumed bool
	// only a wave asks for it, in another lane: it may have been checked before it was moved there,
	// which only its row says until that lane is served (seed 20364 of waved)
	waved  bool
	ticket int64
}

// findPart finds what this lane has to know of the graph, and reads what of that is not known
// yet. It returns false if the schedule has changed meanwhile.
func (w *worker) findPart(
	ctx context.Context, own map[int32]owned, starts, ends []int32,
) (bool, error) {
	name := state.AgentOf(w.lane)
	from := scope{name: name, agent: w.view.graph.Agents().NumberOf(name),
		all: len(w.sched.Unfinished) > 0 || w.stored.Releasing != 0,
		own: own, starts: starts, ends: ends}
	f := &finder{Config: &w.Config, env: w.env, epoch: w.sched.Wave.Epoch,
		releasing: w.stored.Releasing != 0,
		search: search{from: from, v: w.view,
			fresh: fresh{agents: map[int32]bool{}, nodes: map[int32]bool{}}}}
	if same, err := f.find(ctx); !same || err != nil {
		return false, err
	}
	w.narrow(&f.search)
	w.asked = f.search.fresh.nodes
	return true, nil
}

// find searches until everything is known that the search meets. It returns false if the schedule
// has changed meanwhile.
func (f *finder) find(ctx context.Context) (bool, error) {
	for s := &f.search; ; {
		s.run()
		switch {
		case len(s.unknown) > 0:
			if same, err := f.learn(ctx); !same || err != nil {
				return false, err
			}
			s.past = max(8*s.past, 8) // else agents with nothing to do would be read one by one
		case len(s.ask) > 0:
			if err := f.askFinished(ctx); err != nil {
				return false, err
			}
		default:
			return true, nil
		}
	}
}

// learn reads what is scheduled for agents of which nothing is known.
func (f *finder) learn(ctx context.Context) (bool, error) {
	search := &f.search
	names := make([]string, 0, len(search.unknown))
	for a := range search.unknown {
		search.fresh.agents[a] = true
		names = append(names, search.v.graph.Agents().Names[a])
	}
	slices.Sort(names)
	s, err := f.State.Schedule(ctx, f.env, names...)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	return search.v.learn(s, names, f.releasing), nil
}

// askFinished looks up which nodes have finished.
func (f *finder) askFinished(ctx context.Context) error {
	s := &f.search
	g := s.v.graph
	for part := range slices.Chunk(s.ask, f.Asked) {
		ids := make([]resource.ID, len(part))
		for i, n := range part {
			s.fresh.nodes[n], ids[i] = true, g.IDs[n]
		}
		done, err := f.State.Finished(ctx, f.env, ids, f.epoch)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read schedule", err)
		}
		for _, n := range g.Nodes(done) {
			if own, is := s.from.own[n]; is {
				own.needs = false
				s.from.own[n] = own
			}
		}
		s.v.finished(g.Nodes(done))
	}
	return nil
}

// narrow makes the graph of what was found, and the frontier in it.
func (p *part) narrow(s *search) {
	v := p.view
	slices.Sort(s.nodes)
	p.graph, p.full = v.graph, s.nodes
	if len(s.nodes) < len(v.graph.IDs) {
		p.graph = v.graph.Part(s.nodes)
	}
	scheduled := make([]bool, len(s.nodes))
	p.tickets, p.assumed = make([]int64, len(s.nodes)), map[int32]bool{}
	v.mu.Lock()
	for i, n := range s.nodes {
		needs, assumed, ticket := v.needs[n] && !v.clear[n], v.assumed[n], v.tickets[n]
		if a := v.graph.AgentOf(n); a == s.from.agent {
			own := s.from.own[n]
			needs, assumed, ticket = own.needs, own.assumed, own.ticket
		}
		scheduled[i], p.tickets[i] = needs, ticket
		if needs && assumed {
			p.assumed[int32(i)] = true // see Node
		}
	}
	v.mu.Unlock()
	p.frontier = newFrontier(p.graph, scheduled)
	v.agree(p.frontier, s.nodes, s.expanded)
}
